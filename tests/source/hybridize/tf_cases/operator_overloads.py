# Operators of an own class over tensors.
# Dual.__init__: ~effects ~tensor -> ~
# Dual.__add__: ~tensor computes -> ~
# Dual.__mul__: ~tensor computes -> ~
# poly: ~tensor computes -> ~
import tensorflow as tf
class Dual:
    def __init__(self, a, b):
        self.a, self.b = a, b
    def __add__(self, other):
        return Dual(self.a + other.a, self.b + other.b)
    def __mul__(self, other):
        return Dual(self.a * other.a, self.a * other.b + self.b * other.a)
def poly(x):
    return x * x + x
poly(Dual(tf.constant(2.0), tf.constant(1.0)))
