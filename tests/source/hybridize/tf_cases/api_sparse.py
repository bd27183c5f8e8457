# Producers of tensors: sparse.
#
# f0: tensor computes -> to_graph
# f1: tensor computes -> to_graph
# f2: tensor computes -> to_graph
# f3: tensor computes -> to_graph
# f4: tensor computes -> to_graph
# f5: tensor computes -> to_graph
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


f0(tf.SparseTensor(indices=[[0, 0]], values=[1.0], dense_shape=[2, 2]))
f1(tf.sparse.SparseTensor([[0, 0]], [1.0], [2, 2]))
f2(tf.sparse.to_dense(tf.sparse.from_dense([[1.0, 0.0]])))
f3(tf.sparse.from_dense([[1.0, 0.0]]))
f4(tf.sparse.eye(2))
f5(tf.IndexedSlices(base, tf.constant([0, 1, 2]), tf.constant([3])))
