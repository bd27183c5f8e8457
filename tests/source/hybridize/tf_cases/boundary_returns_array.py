# An array of NumPy would come back as a tensor.
# with_table: tensor computes assumed -> to_graph
import numpy as np
import tensorflow as tf

table = np.arange(3.0, dtype=np.float32)


def with_table(x):
    return x + table, table


with_table(tf.ones([3]))
