# A class inside a class, a function inside a method.
#
# Outer.Inner.f: tensor computes -> to_graph
# Outer.run: tensor computes -> to_graph
# Outer.run.local: tensor computes -> to_graph
import tensorflow as tf


class Outer:
    class Inner:
        def f(self, x):
            return x + 1.0

    def run(self, x):
        def local(y):
            return y * 2.0

        return local(x)


inner = Outer.Inner()
inner.f(tf.constant(1.0))
outer = Outer()
outer.run(tf.constant(1.0))
