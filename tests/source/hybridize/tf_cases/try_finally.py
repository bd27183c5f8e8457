# A counter in `finally`.
# guarded: tensor effects computes -> no (side_effects)
# safe: tensor computes -> to_graph
import tensorflow as tf
count = [0]
def guarded(x):
    try:
        return tf.square(x)
    finally:
        count[0] += 1
def safe(x):
    try:
        return tf.square(x)
    except KeyError:
        return x
guarded(tf.ones([1]))
safe(tf.ones([1]))
