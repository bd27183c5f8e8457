# An abstract trainer with hooks that subclasses fill in.
#
# BaseTrainer.train_step: tensor computes -> to_graph
# BaseTrainer.compute_loss: tensor? ~primitive ~computes -> ~
# BaseTrainer.run: ~tensor ~primitive effects computes -> no
# Regression.compute_loss: tensor computes -> to_graph
# Regression.on_epoch_end: ~primitive effects -> no
import abc

import tensorflow as tf


class BaseTrainer(abc.ABC):
    def __init__(self, model):
        self.model = model
        self.optimizer = tf.keras.optimizers.SGD(0.01)
        self.optimizer.build(model.trainable_variables)
        self.epoch = 0

    @abc.abstractmethod
    def compute_loss(self, x, y):
        ...

    def on_epoch_end(self, epoch):
        pass

    def train_step(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y)
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss

    def run(self, dataset, epochs=1):
        for epoch in range(epochs):
            for x, y in dataset:
                self.train_step(x, y)
            self.epoch = epoch
            self.on_epoch_end(epoch)


class Regression(BaseTrainer):
    def compute_loss(self, x, y):
        return tf.reduce_mean(tf.square(self.model(x) - y))

    def on_epoch_end(self, epoch):
        print("epoch", epoch)


net = tf.keras.Sequential([tf.keras.layers.Input((2,)), tf.keras.layers.Dense(1)])
Regression(net).run(tf.data.Dataset.from_tensor_slices((tf.ones([4, 2]), tf.ones([4, 1]))).batch(2), epochs=2)
