# Small layers of every kind.
#
# Swish.call: tensor computes -> to_graph
# Residual.__init__: ~effects -> ~
# Residual.call: tensor computes -> to_graph
# GatedUnit.build: ~tensor ~primitive ~effects ~computes -> ~
# GatedUnit.call: tensor computes -> to_graph
# GatedUnit.get_config: ~effects -> no?
# Counter.call: tensor effects computes -> no (side_effects)
import tensorflow as tf
from tensorflow.keras.layers import Dense, Layer


class Swish(Layer):
    def call(self, inputs):
        return inputs * tf.sigmoid(inputs)


class Residual(Layer):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def call(self, inputs):
        return inputs + self.inner(inputs)


class GatedUnit(Layer):
    def __init__(self, units, **kw):
        super().__init__(**kw)
        self.units = units

    def build(self, input_shape):
        self.value = Dense(self.units)
        self.gate = Dense(self.units, activation="sigmoid")
        super().build(input_shape)

    def call(self, inputs):
        return self.value(inputs) * self.gate(inputs)

    def get_config(self):
        config = super().get_config()
        config.update({"units": self.units})
        return config


class Counter(Layer):
    seen = 0

    def call(self, inputs):
        Counter.seen += 1
        return inputs * 1.0


x = tf.ones([2, 3])
for layer in (Swish(), Residual(Swish()), GatedUnit(2), Counter()):
    layer(x)
