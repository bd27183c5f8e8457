# A loop of tensors, with a tensor of one shape throughout.
# settled: tensor computes -> ~
import tensorflow as tf


def settled(x):
    rounds = tf.constant(0)
    while tf.reduce_max(tf.abs(x)) > 0.1:
        x = x * 0.5
        rounds += 1
    return x, rounds


for step in range(3):
    x, rounds = settled(tf.constant([1.0, 4.0]) * float(step + 1))
    print(x.numpy(), rounds.numpy())
