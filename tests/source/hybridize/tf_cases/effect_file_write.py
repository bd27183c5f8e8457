# Writing a file.
#
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf


def f(x):
    with open("out.txt", "a") as file:
        file.write("called\n")
    return x + 1.0


f(tf.constant(1.0))
