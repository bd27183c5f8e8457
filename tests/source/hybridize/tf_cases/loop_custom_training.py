# The usual custom training loop, with everything in globals.
#
# train_step: tensor computes -> to_graph
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
model.build((None, 2))
optimizer = tf.keras.optimizers.SGD(0.01)
optimizer.build(model.trainable_variables)
loss_fn = tf.keras.losses.MeanSquaredError()


def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


dataset = tf.data.Dataset.from_tensor_slices((tf.ones([8, 2]), tf.ones([8, 1]))).batch(4)
for epoch in range(2):
    for x, y in dataset:
        loss = train_step(x, y)
    print(f"epoch {epoch}")
