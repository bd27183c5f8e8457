# A trainer that owns the model, the optimizer and the step.
#
# Trainer.__init__: ~effects ~tensor ~computes -> ~
# Trainer.step: tensor computes -> to_graph
# Trainer.fit: ~tensor ~primitive ~effects computes -> ~
import tensorflow as tf


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = tf.keras.optimizers.SGD(0.1)
        self.optimizer.build(model.trainable_variables)

    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(self.model(x) - y))
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss

    def fit(self, dataset):
        for x, y in dataset:
            self.step(x, y)


net = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
net.build((None, 2))
Trainer(net).fit(tf.data.Dataset.from_tensor_slices((tf.ones([4, 2]), tf.ones([4, 1]))).batch(2))
