# A layer is built at its first call, inside of the step.
# Step.__init__: ~effects ~computes -> ~
# Step.__call__: tensor computes ~effects -> ~
import tensorflow as tf


class Step:
    def __init__(self):
        self.layer = tf.keras.layers.Dense(3, kernel_initializer="ones")
        self.optimizer = tf.keras.optimizers.SGD(0.1)

    def __call__(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.layer(x) - y))
        variables = self.layer.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss


step = Step()
for i in range(3):
    print(round(float(step(tf.ones([2, 4]), tf.zeros([2, 3]))), 4))
