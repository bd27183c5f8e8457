# A file is read once, when the graph is traced.
#
# f: tensor ~effects computes -> unsafe
import tensorflow as tf

with open("scale.txt", "w") as file:
    file.write("2.0")


def f(x):
    with open("scale.txt") as file:
        return x * float(file.read())


f(tf.constant(1.0))
