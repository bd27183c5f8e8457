# Knowledge distillation, a Keras model with train_step and test_step, never fitted here.
#
# Distiller.__init__: ~effects ~tensor ~primitive ~computes -> ~
# Distiller.train_step: tensor assumed ~primitive ~effects computes -> ~
# Distiller.test_step: tensor assumed ~primitive ~effects computes -> ~
# Distiller.compile: ~tensor ~primitive ~effects ~computes -> ~
import tensorflow as tf
from tensorflow import keras


class Distiller(keras.Model):
    def __init__(self, student, teacher):
        super().__init__()
        self.teacher = teacher
        self.student = student

    def compile(self, optimizer, loss_fn, alpha=0.1):
        super().compile(optimizer=optimizer)
        self.loss_fn = loss_fn
        self.alpha = alpha

    def train_step(self, data):
        x, y = data
        soft = self.teacher(x, training=False)
        with tf.GradientTape() as tape:
            pred = self.student(x, training=True)
            loss = self.alpha * self.loss_fn(y, pred) + (1 - self.alpha) * tf.reduce_mean(tf.square(soft - pred))
        variables = self.student.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return {"loss": loss}

    def test_step(self, data):
        x, y = data
        pred = self.student(x, training=False)
        return {"loss": tf.reduce_mean(self.loss_fn(y, pred))}
