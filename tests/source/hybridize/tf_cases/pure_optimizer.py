# An optimizer changes variables, not Python objects.
#
# train: tensor computes -> to_graph
import tensorflow as tf

w = tf.Variable([1.0, 2.0])
optimizer = tf.keras.optimizers.SGD(0.1)
optimizer.build([w])


def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(w * x)
    optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w]))
    return loss


train(tf.constant([1.0, 1.0]))
