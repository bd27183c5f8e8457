# A small residual network with blocks of its own.
#
# ConvBN.__init__: ~effects ~primitive -> ~
# ConvBN.call: tensor computes -> to_graph
# Block.call: tensor computes -> to_graph
# ResNet._make_layer: primitive ~effects -> no
# ResNet.call: tensor computes -> to_graph
import tensorflow as tf
from tensorflow.keras import Model, Sequential, layers


class ConvBN(layers.Layer):
    def __init__(self, filters, stride=1, **kwargs):
        super().__init__(**kwargs)
        self.conv = layers.Conv2D(filters, 3, strides=stride, padding="same", use_bias=False)
        self.bn = layers.BatchNormalization()

    def call(self, x, training=None):
        return self.bn(self.conv(x), training=training)


class Block(layers.Layer):
    def __init__(self, filters, stride=1):
        super().__init__()
        self.a = ConvBN(filters, stride)
        self.b = ConvBN(filters)
        self.shortcut = ConvBN(filters, stride) if stride != 1 else None

    def call(self, x, training=None):
        y = tf.nn.relu(self.a(x, training=training))
        y = self.b(y, training=training)
        skip = x if self.shortcut is None else self.shortcut(x, training=training)
        return tf.nn.relu(y + skip)


class ResNet(Model):
    def __init__(self, widths):
        super().__init__()
        self.stem = ConvBN(widths[0])
        self.stages = [self._make_layer(w, 1 if i == 0 else 2) for i, w in enumerate(widths)]
        self.head = layers.Dense(3)

    def _make_layer(self, filters, stride):
        return Block(filters, stride)

    def call(self, x, training=False):
        x = self.stem(x, training=training)
        for stage in self.stages:
            x = stage(x, training=training)
        return self.head(tf.reduce_mean(x, axis=[1, 2]))


net = ResNet([2, 4])
net(tf.ones([1, 8, 8, 3]), training=False)
