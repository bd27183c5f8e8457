# A graph function defined inside an eager one.
# train: ~computes primitive -> no
# train.step: tensor hybrid computes -> add_signature
import tensorflow as tf
def train(steps):
    w = tf.Variable(1.0)
    @tf.function
    def step(x):
        w.assign_sub(0.1 * tf.reduce_mean(x))
        return w + 0.0
    for _ in range(steps):
        step(tf.ones([2]))
    return w
train(2)
