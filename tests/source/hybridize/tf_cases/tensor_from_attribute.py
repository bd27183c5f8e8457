# A tensor stored in an attribute by a constructor.
#
# Store.__init__: ~effects ~tensor ~primitive ~computes -> ~
# use: tensor computes -> to_graph
import tensorflow as tf


class Store:
    def __init__(self, value):
        self.value = value


def use(x):
    return x * 3


store = Store(tf.constant([1, 2]))
use(store.value)
