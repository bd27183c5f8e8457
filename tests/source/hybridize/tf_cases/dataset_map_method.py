# A method as the function of `map`.
# Pipe.__init__: ~effects ~primitive -> ~
# Pipe.scale: tensor computes -> to_graph
# Pipe.build: ~computes -> no
import tensorflow as tf
class Pipe:
    def __init__(self, factor):
        self.factor = factor
    def scale(self, x):
        return tf.cast(x, tf.float32) * self.factor
    def build(self):
        return tf.data.Dataset.range(3).map(self.scale)
for element in Pipe(2.0).build():
    pass
