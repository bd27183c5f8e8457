# A list as a default remembers.
# push: tensor effects -> no (side_effects)
# fresh: tensor -> no
import tensorflow as tf
def push(x, into=[]):
    into.append(x)
    return into
def fresh(x, into=None):
    into = [] if into is None else into
    into.append(x)
    return into
push(tf.ones([1]))
fresh(tf.ones([1]))
