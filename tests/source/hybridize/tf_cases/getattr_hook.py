# __getattr__ and __getitem__ of a class.
#
# Bag.__getattr__: ~primitive ~effects ~computes ~tensor -> ~
# Bag.__getitem__: ~primitive ~effects ~computes ~tensor -> ~
# f: tensor computes -> to_graph
# g: tensor computes -> to_graph
import tensorflow as tf


class Bag:
    def __init__(self, **values):
        self.values = values

    def __getattr__(self, name):
        return self.__dict__["values"][name]

    def __getitem__(self, name):
        return self.values[name]


def f(x):
    return x + 1.0


def g(x):
    return x + 2.0


bag = Bag(w=tf.constant(1.0))
f(bag.w)
g(bag["w"])
