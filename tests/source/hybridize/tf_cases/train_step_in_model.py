# Keras' own train_step by a subclass that is fitted with a dataset.
#
# Net.call: tensor computes -> to_graph
# Net.train_step: tensor computes -> to_graph
# Net.test_step: tensor computes -> to_graph
import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)
        self.loss_tracker = tf.keras.metrics.Mean(name="loss")

    def call(self, x, training=False):
        return self.dense(x)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}

    def test_step(self, data):
        x, y = data
        self.loss_tracker.update_state(tf.reduce_mean((self(x) - y) ** 2))
        return {"loss": self.loss_tracker.result()}


net = Net()
net.compile(optimizer="sgd")
data = tf.data.Dataset.from_tensor_slices((tf.ones([4, 2]), tf.ones([4, 1]))).batch(2)
net.fit(data, verbose=0)
net.evaluate(data, verbose=0)
