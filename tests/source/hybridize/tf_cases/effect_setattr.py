# setattr on something from outside.
#
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf


class Box:
    pass


box = Box()


def f(x):
    setattr(box, "rank", len(x.shape))
    return x + 1.0


f(tf.constant(1.0))
