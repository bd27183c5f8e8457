# A step of gradient descent on variables of the module.
# step: tensor computes -> to_graph
# train: effects ~computes -> no
import tensorflow as tf

weight = tf.Variable([0.5, -0.5])
losses = []


def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.linalg.matvec(x, weight) - y) ** 2)
    weight.assign_sub(0.1 * tape.gradient(loss, weight))
    return loss


def train():
    for _ in range(3):
        losses.append(step(tf.ones([4, 2]), tf.zeros([4])))


train()
