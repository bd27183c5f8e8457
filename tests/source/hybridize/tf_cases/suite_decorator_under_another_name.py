# The decorator was imported under another name.
# twice: hybrid tensor computes -> add_signature
import tensorflow as tf
from tensorflow import function as graph


@graph
def twice(x):
    return x + x


twice(tf.ones([2]))
