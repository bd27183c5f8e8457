# MLP.__init__: ~effects ~primitive -> ~
# MLP.call: tensor computes -> to_graph
from tensorflow import keras

from ..layers import Affine


class MLP(keras.Model):
    def __init__(self, width):
        super().__init__()
        self.hidden = Affine(width)
        self.out = Affine(1)

    def call(self, x, training=False):
        return self.out(keras.activations.relu(self.hidden(x)))
