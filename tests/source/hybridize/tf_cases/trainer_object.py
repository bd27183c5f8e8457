# A trainer with a step and a loop.
#
# Trainer.__init__: ~effects ~tensor ~primitive -> ~
# Trainer.step: tensor computes -> to_graph
# Trainer.run: ~tensor effects computes ~primitive -> no
import tensorflow as tf
class Trainer:
    def __init__(self, model, opt):
        self.model = model
        self.opt = opt
    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.model(x) - y) ** 2)
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss
    def run(self, ds):
        for x, y in ds:
            print(self.step(x, y))
t = Trainer(tf.keras.Sequential([tf.keras.layers.Dense(1)]), tf.keras.optimizers.SGD())
t.model.build([None, 2])
t.run(tf.data.Dataset.from_tensor_slices((tf.ones([4, 2]), tf.ones([4, 1]))).batch(2))
