# A loop and a branch on tensors; autograph turns both into operations.
#
# collatz: tensor computes -> to_graph
import tensorflow as tf


def collatz(n):
    steps = tf.constant(0)
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


collatz(tf.constant(6))
