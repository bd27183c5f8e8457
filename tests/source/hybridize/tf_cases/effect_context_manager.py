# A context manager with an effect.
#
# Timer.__enter__: effects -> no
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf


class Timer:
    def __enter__(self):
        print("start")
        return self

    def __exit__(self, *exc):
        return False


def f(x):
    with Timer():
        return x + 1.0


f(tf.constant(1.0))
