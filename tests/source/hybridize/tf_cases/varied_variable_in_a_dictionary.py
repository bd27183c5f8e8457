# A Variable arrives inside of a dictionary, and is assigned there.
# average: tensor computes -> ~
import tensorflow as tf


def average(shadow, weights, rate):
    for name in shadow:
        shadow[name].assign(rate * shadow[name] + (1.0 - rate) * weights[name])
    return tf.add_n([tf.reduce_sum(v) for v in shadow.values()])


shadow = {"w": tf.Variable(tf.zeros([2, 2])), "b": tf.Variable(tf.zeros([2]))}
for step in range(3):
    print(average(shadow, {"w": tf.ones([2, 2]), "b": tf.ones([2])}, tf.constant(0.5)).numpy())
