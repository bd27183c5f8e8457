# One step of MAML with fast weights in a list.
#
# forward: tensor computes -> to_graph
# inner_update: tensor primitive computes -> no (primitive_parameter)
# meta_loss: tensor computes -> to_graph
# outer_step: ~tensor computes -> ~
import tensorflow as tf

weights = [tf.Variable(tf.ones([2, 3]) * 0.1), tf.Variable(tf.ones([3, 1]) * 0.2)]


def forward(x, params):
    return tf.matmul(tf.nn.relu(tf.matmul(x, params[0])), params[1])


def inner_update(params, x, y, rate):
    with tf.GradientTape() as tape:
        tape.watch(params)
        loss = tf.reduce_mean(tf.square(forward(x, params) - y))
    grads = tape.gradient(loss, params)
    return [p - rate * g for p, g in zip(params, grads)]


def meta_loss(x, y):
    fast = inner_update([w * 1.0 for w in weights], x, y, 0.01)
    return tf.reduce_mean(tf.square(forward(x, fast) - y))


def outer_step(task):
    with tf.GradientTape() as tape:
        loss = meta_loss(*task)
    return tape.gradient(loss, weights)


outer_step((tf.ones([4, 2]), tf.ones([4, 1])))
