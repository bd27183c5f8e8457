# A class inside a function.
#
# build: -> ~
# build.Net.forward: tensor computes -> to_graph
import tensorflow as tf


def build():
    class Net:
        def forward(self, x):
            return x * 2.0

    return Net()


net = build()
net.forward(tf.constant(1.0))
