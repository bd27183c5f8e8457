# Two methods call each other until the tensor is small.
# Collatz.even: tensor recursive computes -> no (recursive)
# Collatz.odd: tensor recursive computes -> no (recursive)
import tensorflow as tf


class Collatz:
    def even(self, x):
        return self.odd(x // 2)

    def odd(self, x):
        return x if x <= 1 else self.even(x + 1)


Collatz().odd(tf.constant(7))
