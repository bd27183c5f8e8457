# Python's and the dataset's own enumerate.
# a: tensor primitive computes -> no (primitive_parameter)
# b: tensor computes -> to_graph
import tensorflow as tf
def a(i, x):
    return x * float(i)
def b(i, x):
    return x * tf.cast(i, tf.float32)
ds = tf.data.Dataset.from_tensor_slices([1.0, 2.0])
for i, x in enumerate(ds, start=1):
    a(i, x)
for i, x in ds.enumerate():
    b(i, x)
