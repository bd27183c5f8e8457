# A custom train_step, reached through fit; its name speaks for it too.
#
# Net.train_step: tensor computes -> to_graph
import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self(x, training=True) - y))
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        return {"loss": loss}


net = Net()
net.compile(optimizer="sgd")
net.fit(tf.ones([4, 2]), tf.ones([4, 1]), verbose=0)
