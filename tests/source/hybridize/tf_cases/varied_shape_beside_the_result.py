# The caller multiplies with a dimension that came along.
# pooled: tensor computes -> unsafe
import tensorflow as tf


def pooled(x):
    y = tf.reduce_max(tf.nn.relu(x), axis=1)
    return y, x.shape[0] * x.shape[1]


for rows in (2, 3):
    y, count = pooled(tf.ones([rows, 4, 5]))
    print(y.shape, count)
