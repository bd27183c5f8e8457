# A predictor that loads lazily, caches and measures.
#
# Predictor.__init__: ~effects ~primitive -> ~
# Predictor.model: effects -> no
# Predictor.preprocess: ~primitive ~tensor computes -> ~
# Predictor.inference: tensor effects computes -> no (side_effects)
# Predictor.handle: ~primitive effects computes -> no
# postprocess: tensor computes -> to_graph
import tensorflow as tf


def postprocess(logits):
    return tf.nn.softmax(logits, axis=-1)


class Predictor:
    def __init__(self, width):
        self.width = width
        self._model = None
        self.requests = 0

    @property
    def model(self):
        if self._model is None:
            self._model = tf.keras.Sequential([tf.keras.layers.Dense(self.width)])
        return self._model

    def preprocess(self, payload):
        return tf.constant([payload["x"]], dtype=tf.float32)

    def inference(self, x):
        self.requests += 1
        return postprocess(self.model(x))

    def handle(self, payload):
        return self.inference(self.preprocess(payload)).numpy().tolist()


Predictor(2).handle({"x": [1.0, 2.0]})
