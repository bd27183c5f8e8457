# update, setdefault, pop and clear on dictionaries from outside.
#
# update: tensor effects computes -> no (side_effects)
# default: tensor effects computes -> no (side_effects)
# pop: tensor effects computes -> no (side_effects)
# clear: tensor effects computes -> no (side_effects)
import tensorflow as tf

table = {"a": 1}


def update(x):
    table.update(b=2)
    return x + 1


def default(x):
    table.setdefault("c", 3)
    return x + 1


def pop(x):
    table.pop("c", None)
    return x + 1


def clear(x):
    table.clear()
    return x + 1


x = tf.constant(1)
update(x)
default(x)
pop(x)
clear(x)
