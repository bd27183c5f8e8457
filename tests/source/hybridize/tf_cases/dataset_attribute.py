# A dataset in an attribute.
#
# Trainer.__init__: ~effects ~computes ~tensor -> ~
# Trainer.step: tensor computes -> to_graph
# Trainer.run: ~computes -> no (no_tensor_parameter)
import tensorflow as tf


class Trainer:
    def __init__(self, dataset):
        self.dataset = dataset

    def step(self, x):
        return x * 2.0

    def run(self):
        for x in self.dataset:
            self.step(x)


Trainer(tf.data.Dataset.from_tensor_slices([1.0, 2.0])).run()
