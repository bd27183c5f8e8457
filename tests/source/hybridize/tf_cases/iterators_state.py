# A captured iterator moves on.
# following: tensor effects ~computes -> no (side_effects)
# local: tensor computes -> to_graph
import itertools
import tensorflow as tf
ids = itertools.count()
def following(x):
    return x + float(next(ids))
def local(x):
    it = iter([1.0, 2.0])
    return x + next(it) + next(it)
following(tf.ones([1]))
local(tf.ones([1]))
