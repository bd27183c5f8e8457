# A layer's subclass calls its parent, which has an effect.
# Base.call: tensor effects computes -> no (side_effects)
# Sub.call: tensor effects computes -> no (side_effects)
import tensorflow as tf
class Base(tf.keras.layers.Layer):
    def call(self, x):
        self.last = x
        return x + 1.0
class Sub(Base):
    def call(self, x):
        return super().call(x) * 2.0
Base()(tf.ones([1]))
Sub()(tf.ones([1]))
