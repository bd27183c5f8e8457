# A key function with an effect.
#
# key: effects ~primitive -> no
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf

asked = []


def key(n):
    asked.append(n)
    return -n


def f(x):
    order = sorted([1, 2, 3], key=key)
    return x + float(order[0])


f(tf.constant(1.0))
