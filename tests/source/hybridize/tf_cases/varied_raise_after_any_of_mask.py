# A check of a mask raises in the middle of a training step.
# clipped: tensor computes -> no
# main: ~effects ~computes -> ~
import tensorflow as tf


def clipped(gradients, limit):
    norms = tf.stack([tf.norm(g) for g in gradients])
    if tf.reduce_any(tf.math.is_nan(norms)) or tf.reduce_max(norms) > 1e6:
        raise RuntimeError("diverged")
    scale = tf.minimum(1.0, limit / tf.linalg.norm(norms))
    return [g * scale for g in gradients]


def main():
    for step in range(3):
        found = clipped([tf.ones([2, 3]) * float(step + 1), tf.ones([4])], tf.constant(1.5))
        print([g.shape for g in found])


main()
