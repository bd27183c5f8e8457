# Trainer.__init__: ~effects ~tensor ~primitive -> ~
# Trainer.step: tensor computes -> to_graph
# Trainer.fit: ~tensor primitive effects computes -> no
import tensorflow as tf

from project import losses


class Trainer:
    def __init__(self, model, rate):
        self.model = model
        self.optimizer = tf.keras.optimizers.SGD(rate)
        self.history = []

    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = losses.mse(y, self.model(x, training=True))
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    def fit(self, data, epochs=1):
        for _ in range(epochs):
            for x, y in data:
                self.history.append(float(self.step(x, y)))
        return self.history
