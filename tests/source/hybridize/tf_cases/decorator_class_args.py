# A decorator class with arguments that calls through.
# Scaled.__init__: ~effects ~primitive ~tensor -> ~
# Scaled.__call__: ~tensor ~computes -> ~
# Scaled.__call__.inner: tensor computes -> to_graph
# halve: tensor computes -> to_graph
import tensorflow as tf
class Scaled:
    def __init__(self, by):
        self.by = by
    def __call__(self, f):
        def inner(x):
            return f(x) * self.by
        return inner
@Scaled(2.0)
def halve(x):
    return x / 2.0
halve(tf.ones([2]))
