# A dictionary of counts, outside.
# count: tensor effects ~computes -> no (side_effects)
# total: tensor computes -> to_graph
import tensorflow as tf
from collections import Counter
seen = Counter()
def count(x):
    seen["calls"] += 1
    return x + 1.0
def total(x):
    return tf.reduce_sum(x)
for i in range(2):
    total(count(tf.ones([2]) * float(i)))
