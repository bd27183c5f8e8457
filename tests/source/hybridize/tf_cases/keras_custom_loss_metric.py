# A loss class and a metric class.
# Weighted.__init__: ~effects ~primitive -> ~
# Weighted.call: tensor computes -> ~
# Hits.__init__: ~effects ~primitive ~computes -> ~
# Hits.update_state: tensor computes -> ~
# Hits.result: computes -> no
import tensorflow as tf
class Weighted(tf.keras.losses.Loss):
    def __init__(self, w):
        super().__init__()
        self.w = w
    def call(self, y_true, y_pred):
        return self.w * tf.reduce_mean((y_true - y_pred) ** 2, axis=-1)
class Hits(tf.keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="hits")
        self.n = self.add_weight(name="n", initializer="zeros")
    def update_state(self, y_true, y_pred, sample_weight=None):
        self.n.assign_add(tf.reduce_sum(tf.cast(y_true > y_pred, tf.float32)))
    def result(self):
        return self.n + 0.0
loss, hits = Weighted(2.0), Hits()
y, p = tf.ones([2, 1]), tf.zeros([2, 1])
loss(y, p)
hits.update_state(y, p)
hits.result()
