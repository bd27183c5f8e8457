# A method that is called through its class.
#
# Net.f: tensor computes -> to_graph
import tensorflow as tf


class Net:
    def f(self, x):
        return x * 2.0


Net.f(Net(), tf.constant(1.0))
