# An optimizer is made at the first step, and returned.
# step: ~tensor computes ~effects -> unsafe
import tensorflow as tf

w = tf.Variable([1.0, 2.0])


def step(x, optimizer):
    if optimizer is None:
        optimizer = tf.keras.optimizers.SGD(0.1)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(w * x))
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    return loss, optimizer


optimizer = None
for i in range(3):
    loss, optimizer = step(tf.ones([2]), optimizer)
    print(loss.numpy())
