# import tensorflow.math as m; from tensorflow import nn, random.
#
# f: tensor computes -> to_graph
import tensorflow.math as m
from tensorflow import nn, random


def f(x):
    return m.reduce_sum(nn.relu(x))


f(random.normal([3]))
