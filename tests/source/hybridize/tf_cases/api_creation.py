# Producers of tensors: creation.
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


f0(tf.fill([2], 1.0))
f1(tf.zeros_like(base))
f2(tf.ones_like(base))
f3(tf.one_hot([0, 1], 3))
f4(tf.linspace(0.0, 1.0, 3))
f5(tf.range(5))
f6(tf.range(0.0, 1.0, 0.5))
f7(tf.eye(2))
f8(tf.convert_to_tensor([1, 2]))
f9(tf.cast(base, tf.int32))
f10(tf.identity(base))
f11(tf.constant('text'))
f12(tf.constant([[1, 2], [3, 4]], dtype=tf.float64))
f13(tf.zeros((2,), dtype=tf.int32))
