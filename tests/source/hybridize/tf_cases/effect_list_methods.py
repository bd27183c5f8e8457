# extend, insert, sort, reverse and remove on lists from outside.
#
# extend: tensor effects computes -> no (side_effects)
# insert: tensor effects computes -> no (side_effects)
# sort: tensor effects computes -> no (side_effects)
# reverse: tensor effects computes -> no (side_effects)
import tensorflow as tf

numbers = [3, 1, 2]


def extend(x):
    numbers.extend([4])
    return x + 1


def insert(x):
    numbers.insert(0, 9)
    return x + 1


def sort(x):
    numbers.sort()
    return x + 1


def reverse(x):
    numbers.reverse()
    return x + 1


x = tf.constant(1)
extend(x)
insert(x)
sort(x)
reverse(x)
