# A helper asks an array for its largest element.
# largest: ~tensor ~computes -> ~
# bounded: tensor computes -> no (numpy)
import numpy as np
import tensorflow as tf


def largest(values):
    return values.max()


def bounded(values, x):
    return tf.clip_by_value(x, 0.0, float(largest(values)))


for step in range(3):
    print(bounded(np.array([1.0, 2.0 + step]), tf.constant([0.5, 9.0])).numpy())
