# Two modules that import each other.
#
# start: tensor recursive computes -> no (recursive)
import tensorflow as tf


def start(x):
    import other

    return other.go(x) if x > 0.0 else x


if __name__ == "__main__":
    start(tf.constant(3.0))
