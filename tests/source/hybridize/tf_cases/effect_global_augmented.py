# A global is counted up.
#
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf

count = 0


def f(x):
    global count
    count += 1
    return x * 2


f(tf.constant(1))
