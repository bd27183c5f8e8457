# Static and class methods; `cls` does not count either.
#
# Net.double: tensor computes -> to_graph
# Net.triple: tensor computes -> to_graph
# Net.nothing: -> no (no_tensor_parameter)
import tensorflow as tf


class Net:
    @staticmethod
    def double(x):
        return x * 2.0

    @classmethod
    def triple(cls, x):
        return cls.double(x) + x

    @classmethod
    def nothing(cls):
        return 1


Net.double(tf.constant(1.0))
Net().triple(tf.constant(1.0))
Net.nothing()
