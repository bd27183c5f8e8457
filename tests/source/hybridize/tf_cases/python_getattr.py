# getattr with a constant name.
#
# Net.f: tensor computes -> to_graph
import tensorflow as tf


class Net:
    def f(self, x):
        return x * 2.0


getattr(Net(), "f")(tf.constant(1.0))
