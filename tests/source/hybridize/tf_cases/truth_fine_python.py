# Python values that do not change are fine.
#
# f: tensor computes -> to_graph
# Net.g: tensor computes -> to_graph
import tensorflow as tf

SIZES = (1, 2, 3)
TABLE = {"a": 1.0, "b": 2.0}


def f(x):
    out = {k: x * v for k, v in TABLE.items()}
    return [out["a"] * float(s) for s in SIZES] + list(out.values())


class Net:
    def __init__(self, scale):
        self.scale = scale
        self.names = ["a", "b"]

    def g(self, x):
        return x * self.scale * float(len(self.names))


net = Net(2.0)
for i in range(2):
    f(tf.constant(1.0))
    net.g(tf.constant(1.0))
