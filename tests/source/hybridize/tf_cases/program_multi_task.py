# A model with several heads in a dictionary, losses by name.
#
# MultiTask.__init__: ~effects ~primitive -> ~
# MultiTask.call: tensor computes -> to_graph
# losses: tensor computes -> to_graph
# total: tensor computes -> to_graph
# weights_from_config: ~primitive -> no
import tensorflow as tf


class MultiTask(tf.keras.Model):
    def __init__(self, heads):
        super().__init__()
        self.trunk = tf.keras.layers.Dense(4, activation="relu")
        self.heads = {name: tf.keras.layers.Dense(n) for name, n in heads.items()}

    def call(self, inputs):
        h = self.trunk(inputs)
        return {name: head(h) for name, head in self.heads.items()}


def losses(targets, outputs):
    return {name: tf.reduce_mean(tf.square(targets[name] - out)) for name, out in outputs.items()}


WEIGHTS = {"a": 1.0, "b": 0.5}


def total(per_task):
    return sum(WEIGHTS[name] * value for name, value in per_task.items())


def weights_from_config(config):
    return {k: float(v) for k, v in config.items()}


weights_from_config({"a": "1", "b": "2"})
model = MultiTask({"a": 1, "b": 2})
out = model(tf.ones([3, 2]))
total(losses({"a": tf.zeros([3, 1]), "b": tf.zeros([3, 2])}, out))
