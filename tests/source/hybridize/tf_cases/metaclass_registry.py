# Classes register themselves when they are defined: that is no effect of the functions.
# Meta.__new__: ~tensor ~primitive effects ~computes -> no?
# Relu.apply: tensor computes -> to_graph
import tensorflow as tf
REGISTRY = {}
class Meta(type):
    def __new__(mcs, name, bases, ns):
        cls = super().__new__(mcs, name, bases, ns)
        REGISTRY[name] = cls
        return cls
class Relu(metaclass=Meta):
    def apply(self, x):
        return tf.nn.relu(x)
r = Relu()
r.apply(tf.ones([1]))
