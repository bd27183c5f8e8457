# A function that is defined in one of two ways.
#
# f: tensor computes -> to_graph
import sys

import tensorflow as tf

if sys.version_info >= (3, 0):

    def f(x):
        return x + 1.0

else:

    def f(x):
        return x + 2.0


f(tf.constant(1.0))
