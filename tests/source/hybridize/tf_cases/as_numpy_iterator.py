# numpy arrays from a dataset are no tensors.
# use: tensor ~computes -> to_graph
# use_tensor: tensor computes -> to_graph
import tensorflow as tf
def use(a):
    return tf.reduce_sum(a)
def use_tensor(a):
    return tf.reduce_sum(a)
ds = tf.data.Dataset.from_tensor_slices([[1.0, 2.0], [3.0, 4.0]])
for a in ds.as_numpy_iterator():
    use(a)
for a in ds:
    use_tensor(a)
