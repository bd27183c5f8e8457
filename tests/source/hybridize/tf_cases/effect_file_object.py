# A file object from outside is written to.
#
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf

log = open("log.txt", "w")


def f(x):
    log.write("called\n")
    log.flush()
    return x + 1.0


f(tf.constant(1.0))
