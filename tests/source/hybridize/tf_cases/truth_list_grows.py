# A list that grows between calls.
#
# f: tensor computes -> unsafe
import tensorflow as tf

parts = []


def f(x):
    return x * float(len(parts))


out = []
for i in range(3):
    parts.append(i)
    out.append(f(tf.constant(1.0)))
