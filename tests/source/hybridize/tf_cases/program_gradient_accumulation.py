# Gradients are gathered in Python lists of variables and then applied.
#
# make_accumulators: ~tensor ~primitive computes -> ~
# accumulate: tensor computes -> to_graph
# apply_and_reset: ~tensor ~computes -> ~
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Input((2,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)
optimizer.build(model.trainable_variables)


def make_accumulators(variables):
    return [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables]


accumulators = make_accumulators(model.trainable_variables)


def accumulate(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    for acc, grad in zip(accumulators, tape.gradient(loss, model.trainable_variables)):
        acc.assign_add(grad)
    return loss


def apply_and_reset():
    optimizer.apply_gradients(zip(accumulators, model.trainable_variables))
    for acc in accumulators:
        acc.assign(acc * 0.0)


dataset = tf.data.Dataset.from_tensor_slices((tf.ones([4, 2]), tf.ones([4, 1]))).batch(1)
for step, (x, y) in enumerate(dataset):
    accumulate(x, y)
    if (step + 1) % 2 == 0:
        apply_and_reset()
