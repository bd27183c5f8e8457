# Message passing on a graph.
#
# gather_messages: tensor computes -> to_graph
# aggregate: tensor computes -> to_graph
# GraphLayer.__init__: ~effects ~primitive -> ~
# GraphLayer.call: tensor computes -> to_graph
# GNN.call: tensor computes -> to_graph
# readout: tensor computes -> to_graph
import tensorflow as tf


def gather_messages(nodes, edges):
    return tf.gather(nodes, edges[:, 0]) - tf.gather(nodes, edges[:, 1])


def aggregate(messages, receivers, n):
    return tf.math.unsorted_segment_sum(messages, receivers, n)


class GraphLayer(tf.keras.layers.Layer):
    def __init__(self, width):
        super().__init__()
        self.dense = tf.keras.layers.Dense(width, activation="tanh")

    def call(self, nodes, edges):
        messages = self.dense(gather_messages(nodes, edges))
        return aggregate(messages, edges[:, 1], tf.shape(nodes)[0])


class GNN(tf.keras.Model):
    def __init__(self, depth=2):
        super().__init__()
        self.layers_ = [GraphLayer(3) for _ in range(depth)]

    def call(self, nodes, edges):
        for layer in self.layers_:
            nodes = nodes + layer(nodes, edges)
        return nodes


def readout(nodes):
    return tf.reduce_mean(nodes, axis=0)


readout(GNN()(tf.ones([4, 3]), tf.constant([[0, 1], [1, 2], [2, 3]])))
