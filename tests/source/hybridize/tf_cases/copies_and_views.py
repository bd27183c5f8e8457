# Slices and copies of outside lists are new, the elements in them are not.
#
# a: tensor computes -> to_graph
# b: tensor effects computes -> no
# c: tensor computes -> to_graph
# d: tensor effects computes -> no
import tensorflow as tf

rows = [[1], [2]]


def a(x):
    part = rows[:1]
    part.append([3])
    return x + 1.0


def b(x):
    part = rows[:1]
    part[0].append(3)
    return x + 1.0


def c(x):
    fresh = [list(r) for r in rows]
    fresh[0].append(3)
    return x + 1.0


def d(x):
    for row in rows:
        row.append(0)
    return x + 1.0


a(tf.constant(1.0))
b(tf.constant(1.0))
c(tf.constant(1.0))
d(tf.constant(1.0))
