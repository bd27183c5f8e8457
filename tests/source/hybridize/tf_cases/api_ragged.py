# Producers of tensors: ragged.
#
# f0: tensor computes -> to_graph
# f1: tensor computes -> to_graph
# f2: tensor computes -> to_graph
# f3: tensor computes -> to_graph
# f4: tensor computes -> to_graph
# f5: tensor computes -> to_graph
# f6: tensor computes -> to_graph
# f7: tensor computes -> to_graph
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


f0(tf.ragged.constant([[1], [2, 3]]))
f1(tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 1, 3]))
f2(tf.RaggedTensor.from_row_lengths([1, 2, 3], [1, 2]))
f3(tf.ragged.range([1, 2]))
f4(tf.ragged.constant([[1], [2, 3]]).to_tensor())
f5(tf.strings.split(['a b', 'c']))
f6(tf.ragged.stack([base, base]))
f7(tf.ragged.constant([[1], [2, 3]]).values)
