# Reading and writing in Python, tensors only at the end.
#
# write: ~primitive effects -> no
# read: ~primitive effects -> no
# standardise: tensor computes -> to_graph
# split: tensor primitive computes -> no (primitive_parameter)
import csv

import tensorflow as tf


def write(path, rows):
    with open(path, "w", newline="") as f:
        csv.writer(f).writerows(rows)


def read(path):
    with open(path) as f:
        return [[float(v) for v in row] for row in csv.reader(f)]


def standardise(t):
    mean, variance = tf.nn.moments(t, axes=[0])
    return (t - mean) / tf.sqrt(variance + 1e-6)


def split(t, fraction):
    n = int(t.shape[0] * fraction)
    return t[:n], t[n:]


write("data.csv", [[1, 2], [3, 4], [5, 6], [7, 8]])
data = tf.constant(read("data.csv"))
train, test = split(standardise(data), 0.5)
