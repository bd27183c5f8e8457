# A captured variable that the maker changes later.
#
# run.f: tensor computes -> unsafe
import tensorflow as tf


def run():
    scale = 1.0

    def f(x):
        return x * scale

    out = [f(tf.constant(1.0))]
    scale = 2.0
    out.append(f(tf.constant(1.0)))
    return out


results = run()
