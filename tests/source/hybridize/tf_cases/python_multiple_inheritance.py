# The order of a diamond.
#
# A.f: tensor? ~primitive ~computes -> no?
# B.f: tensor computes -> to_graph
# C.f: tensor effects computes -> no (side_effects)
# D.f: tensor effects computes -> no (side_effects)
import tensorflow as tf


class A:
    def f(self, x):
        return x + 1.0


class B(A):
    def f(self, x):
        return x + 2.0


class C(A):
    def f(self, x):
        print("C")
        return x + 3.0


class D(C, B):
    def f(self, x):
        return super().f(x)


D().f(tf.constant(1.0))
B().f(tf.constant(1.0))
