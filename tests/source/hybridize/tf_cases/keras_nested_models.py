# A model that holds models.
# Encoder.__init__: ~effects -> ~
# Encoder.call: tensor computes -> ~
# Auto.__init__: ~effects -> ~
# Auto.call: tensor computes -> ~
# Auto.train_step: ~tensor ~effects computes -> ~
import tensorflow as tf
class Encoder(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.d = tf.keras.layers.Dense(2)
    def call(self, x):
        return tf.nn.relu(self.d(x))
class Auto(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = tf.keras.layers.Dense(3)
    def call(self, x):
        return self.decoder(self.encoder(x))
    def train_step(self, data):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(data, training=True) - data) ** 2)
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        return {"loss": loss}
m = Auto()
m(tf.ones([2, 3]))
m.compile("sgd")
m.fit(tf.ones([2, 3]), verbose=0)
