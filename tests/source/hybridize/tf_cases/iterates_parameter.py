# A loop over a tensor, and one over its shape.
# rows: tensor computes -> no (iterates_tensor)
# dims: tensor ~computes -> ~
import tensorflow as tf
def rows(x):
    return [tf.reduce_sum(row) for row in x]
def dims(x):
    return tf.reshape(x, [d for d in reversed(x.shape)])
rows(tf.ones([2, 3]))
dims(tf.ones([2, 3]))
