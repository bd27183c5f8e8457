# Producers of tensors: math.
#
# f0: tensor computes -> to_graph
# f1: tensor computes -> to_graph
# f2: tensor computes -> to_graph
# f3: tensor computes -> to_graph
# f4: tensor computes -> to_graph
# f5: tensor computes -> to_graph
# f6: tensor computes -> to_graph
# f7: tensor computes -> to_graph
# f8: tensor computes -> to_graph
# f9: tensor computes -> to_graph
# f10: tensor computes -> to_graph
# f11: tensor computes -> to_graph
# f12: tensor computes -> to_graph
# f13: tensor computes -> to_graph
# f14: tensor computes -> to_graph
# f15: tensor computes -> to_graph
# f16: tensor computes -> to_graph
# f17: tensor computes -> to_graph
# f18: tensor computes -> to_graph
# f19: tensor computes -> to_graph
# f20: tensor computes -> to_graph
# f21: tensor computes -> to_graph
# f22: tensor computes -> to_graph
# f23: tensor computes -> to_graph
# f24: tensor computes -> to_graph
# f25: tensor computes -> to_graph
import tensorflow as tf

base = tf.constant([1.0, 2.0, 3.0])
matrix = tf.constant([[1.0, 2.0, 0.5], [0.1, 3.0, 1.0], [2.0, 0.3, 4.0]])

def f0(x):
    return x, tf.add(base, 1.0)

def f1(x):
    return x, tf.add(base, 1.0)

def f2(x):
    return x, tf.add(base, 1.0)

def f3(x):
    return x, tf.add(base, 1.0)

def f4(x):
    return x, tf.add(base, 1.0)

def f5(x):
    return x, tf.add(base, 1.0)

def f6(x):
    return x, tf.add(base, 1.0)

def f7(x):
    return x, tf.add(base, 1.0)

def f8(x):
    return x, tf.add(base, 1.0)

def f9(x):
    return x, tf.add(base, 1.0)

def f10(x):
    return x, tf.add(base, 1.0)

def f11(x):
    return x, tf.add(base, 1.0)

def f12(x):
    return x, tf.add(base, 1.0)

def f13(x):
    return x, tf.add(base, 1.0)

def f14(x):
    return x, tf.add(base, 1.0)

def f15(x):
    return x, tf.add(base, 1.0)

def f16(x):
    return x, tf.add(base, 1.0)

def f17(x):
    return x, tf.add(base, 1.0)

def f18(x):
    return x, tf.add(base, 1.0)

def f19(x):
    return x, tf.add(base, 1.0)

def f20(x):
    return x, tf.add(base, 1.0)

def f21(x):
    return x, tf.add(base, 1.0)

def f22(x):
    return x, tf.add(base, 1.0)

def f23(x):
    return x, tf.add(base, 1.0)

def f24(x):
    return x, tf.add(base, 1.0)

def f25(x):
    return x, tf.add(base, 1.0)


f0(tf.add(base, 1.0))
f1(tf.math.multiply(base, base))
f2(tf.math.log(base))
f3(tf.reduce_sum(base))
f4(tf.math.reduce_std(base))
f5(tf.argmax(base))
f6(tf.maximum(base, 0.0))
f7(tf.where(base > 1.0, base, 0.0))
f8(tf.matmul(matrix, matrix))
f9(tf.linalg.inv(matrix))
f10(tf.einsum('ij->ji', matrix))
f11(tf.norm(base))
f12(tf.math.cumsum(base))
f13(tf.clip_by_value(base, 0.0, 1.0))
f14(tf.equal(base, base))
f15(tf.sort(base))
f16(tf.argsort(base))
f17(base == base)
f18(base > 1.0)
f19(base[0])
f20(matrix[:, 0])
f21(matrix @ matrix)
f22(-base)
f23(abs(base))
f24(base // 2.0)
f25(2.0 ** base)
