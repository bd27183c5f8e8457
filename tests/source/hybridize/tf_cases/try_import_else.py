# A library that nobody knows, or TensorFlow: what is called cannot be told.
# f: tensor effects? ~computes -> unknown
try:
    import not_there_at_all as tf
except ImportError:
    import tensorflow as tf
def f(x):
    return tf.square(x)
f(tf.ones([1]))
