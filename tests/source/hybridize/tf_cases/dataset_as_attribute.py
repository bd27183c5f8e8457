# The dataset is an attribute of a trainer.
# Trainer.__init__: ~effects ~computes ~tensor -> ~
# Trainer.fit: ~effects ~computes -> no
# Trainer.step: tensor computes -> to_graph
import tensorflow as tf
class Trainer:
    def __init__(self, data):
        self.data = data
        self.w = tf.Variable(1.0)
    def fit(self):
        for x, y in self.data:
            self.step(x, y)
    def step(self, x, y):
        self.w.assign_sub(0.1 * tf.reduce_mean(x * self.w - y))
        return self.w + 0.0
Trainer(tf.data.Dataset.from_tensor_slices(([1.0, 2.0], [2.0, 4.0])).batch(1)).fit()
