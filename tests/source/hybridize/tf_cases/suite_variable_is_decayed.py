# A variable is passed and assigned; nothing is returned.
# decay: tensor computes -> to_graph
import tensorflow as tf


def decay(weight: tf.Variable):
    weight.assign(weight * 0.9)


weight = tf.Variable([1.0, 2.0])
decay(weight)
print(weight.numpy())
