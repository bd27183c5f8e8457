# Producers of tensors: random.
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


f0(tf.random.normal([2]))
f1(tf.random.uniform((2, 2), maxval=5, dtype=tf.int32))
f2(tf.random.truncated_normal([2]))
f3(tf.random.gamma([2], 1.0))
f4(tf.random.poisson([2], 1.0))
f5(tf.random.shuffle(base))
f6(tf.random.categorical([[0.5, 0.5]], 1))
f7(tf.random.stateless_normal([2], seed=[1, 2]))
f8(tf.random.Generator.from_seed(1).normal([2]))
