# A method and a function of the same name.
#
# scale: tensor computes -> to_graph
# Net.scale: tensor computes -> to_graph
import tensorflow as tf


def scale(x):
    return x * 2.0


class Net:
    def scale(self, x):
        return scale(x) + 1.0


Net().scale(tf.constant(1.0))
