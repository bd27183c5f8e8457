# The dictionary is made inside.
# stats: tensor computes -> to_graph
import tensorflow as tf
from collections import defaultdict
def stats(x):
    found = defaultdict(list)
    found["mean"].append(tf.reduce_mean(x))
    found["max"].append(tf.reduce_max(x))
    return found["mean"][0] + found["max"][0]
stats(tf.constant([1.0, 3.0]))
