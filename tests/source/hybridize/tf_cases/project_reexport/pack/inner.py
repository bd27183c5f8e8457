# Net.__call__: tensor computes -> to_graph
import tensorflow as tf

SCALE = 2.0


class Net:
    def __call__(self, x):
        return tf.nn.relu(x)


def make_net():
    return Net()
