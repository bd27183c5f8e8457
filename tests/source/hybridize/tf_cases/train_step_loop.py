# A training loop with metrics, an optimiser and progress.
# train_step: tensor computes -> to_graph
# test_step: tensor computes -> to_graph
# main: effects ~computes -> no
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)
optimizer.build(model.trainable_variables)
loss_fn = tf.keras.losses.MeanSquaredError()
mean = tf.keras.metrics.Mean()
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    mean.update_state(loss)
    return loss
def test_step(x, y):
    return loss_fn(y, model(x, training=False))
def main():
    x, y = tf.ones([4, 2]), tf.ones([4, 1])
    for _ in range(2):
        loss = train_step(x, y)
        print(tf.math.is_finite(loss), tf.math.is_finite(test_step(x, y)), mean.count.numpy())
main()
