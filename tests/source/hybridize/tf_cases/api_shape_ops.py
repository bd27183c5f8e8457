# Producers of tensors: shape ops.
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


f0(tf.reshape(base, [3, 1]))
f1(tf.expand_dims(base, 0))
f2(tf.squeeze(matrix[None]))
f3(tf.transpose(matrix))
f4(tf.concat([base, base], 0))
f5(tf.stack([base, base]))
f6(tf.tile(base, [2]))
f7(tf.pad(base, [[1, 1]]))
f8(tf.gather(base, [0]))
f9(tf.slice(base, [0], [1]))
f10(tf.boolean_mask(base, [True, False, True]))
f11(tf.broadcast_to(base, [2, 3]))
f12(tf.reverse(base, [0]))
f13(tf.shape(base))
f14(tf.size(base))
f15(tf.rank(base))
