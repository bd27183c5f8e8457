# The same, but a caller passes a list of its own.
# fresh: tensor effects -> no (side_effects)
# caller: tensor -> no
import tensorflow as tf
def fresh(x, into=None):
    into = [] if into is None else into
    into.append(x)
    return into
def caller(x):
    mine = []
    fresh(x, mine)
    return mine
caller(tf.ones([1]))
fresh(tf.ones([1]))
