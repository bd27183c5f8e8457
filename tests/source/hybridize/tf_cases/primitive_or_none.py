# Sometimes a number, sometimes None.
# crop: tensor ~primitive computes -> ~
import tensorflow as tf
def crop(x, size=None):
    return x if size is None else x[:size]
crop(tf.ones([4]))
crop(tf.ones([4]), None)
crop(tf.ones([4]), 2)
