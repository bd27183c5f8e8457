# Batches of a dataset reach a step.
# step: tensor computes -> to_graph
# train: primitive effects ~computes -> no
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w - y) ** 2)
    g = tape.gradient(loss, w)
    w.assign_sub(0.1 * g)
    return loss
data = tf.data.Dataset.from_tensor_slices((tf.ones([4, 2]), tf.ones([4, 1]))).batch(2)
def train(epochs):
    for epoch in range(epochs):
        for x, y in data:
            loss = step(x, y)
        print(epoch)
train(2)
