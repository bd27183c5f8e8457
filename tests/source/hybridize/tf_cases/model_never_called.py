# `call` of a model that nothing calls: by its name.
# Net.__init__: ~effects -> ~
# Net.call: tensor computes assumed -> to_graph
import tensorflow as tf
from tensorflow.keras import Model, layers
class Net(Model):
    def __init__(self):
        super().__init__()
        self.d = layers.Dense(2)
    def call(self, inputs):
        return self.d(inputs)
