# A layer that passes keywords on.
# Block.__init__: ~effects ~primitive -> ~
# Block.call: tensor computes -> to_graph
import tensorflow as tf
class Block(tf.keras.layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.dense = tf.keras.layers.Dense(units)
        self.norm = tf.keras.layers.LayerNormalization()
    def call(self, inputs, training=None):
        return self.norm(self.dense(inputs), training=training)
block = Block(3, name="b")
block(tf.ones([2, 4]))
