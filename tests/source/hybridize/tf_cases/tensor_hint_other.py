# Hints of other types; nobody calls the function, and nothing else says what flows in.
#
# f: ~tensor ~primitive ~computes -> ~
import tensorflow as tf


def f(n: int, name: str):
    return tf.fill([n], name)
