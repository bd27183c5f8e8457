# A comprehension appends to a global.
#
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf
seen = []
def f(x):
    ys = [seen.append(i) or x * i for i in range(2)]
    return ys[0] + ys[1]
f(tf.constant(1))
