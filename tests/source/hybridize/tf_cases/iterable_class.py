# A class that is walked, by __iter__ as a generator and by __len__/__getitem__.
#
# Batches.__init__: ~effects ~tensor ~primitive -> ~
# Batches.__iter__: computes -> no
# f: tensor computes -> to_graph
import tensorflow as tf


class Batches:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __iter__(self):
        for i in range(self.n):
            yield tf.fill([2], float(i)) + 1.0, tf.ones([1])


def f(x, y):
    return tf.reduce_sum(x) * y


for x, y in Batches(2):
    f(x, y)
