# The step itself keeps the losses in a list.
#
# train_step: tensor effects computes -> no (side_effects)
import tensorflow as tf

w = tf.Variable(1.0)
losses = []


def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(w * x)
    w.assign_sub(0.1 * tape.gradient(loss, w))
    losses.append(loss)
    return loss


for x in tf.data.Dataset.from_tensor_slices([1.0, 2.0]):
    train_step(x)
