# A context manager that writes to a list around the body.
# Scope.__init__: ~effects ~primitive -> ~
# Scope.__enter__: effects -> no
# Scope.__exit__: ~tensor effects ~primitive -> no?
# inside: tensor effects computes -> no (side_effects)
# pure: tensor computes -> to_graph
import tensorflow as tf
names = []
class Scope:
    def __init__(self, name):
        self.name = name
    def __enter__(self):
        names.append(self.name)
        return self
    def __exit__(self, *exc):
        names.pop()
def inside(x):
    with Scope("a"):
        return tf.square(x)
def pure(x):
    with tf.name_scope("a"):
        return tf.square(x)
inside(tf.ones([1]))
pure(tf.ones([1]))
