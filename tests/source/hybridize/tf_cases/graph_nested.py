# A hybrid function that is made inside another one.
#
# make: -> no
# make.step: hybrid tensor computes -> add_signature
import tensorflow as tf


def make():
    @tf.function
    def step(x):
        return x * 2.0

    return step


step = make()
step(tf.constant([1.0]))
