# A dictionary of settings that changes between calls.
#
# f: tensor computes -> unsafe
import tensorflow as tf

settings = {"scale": 1.0}


def f(x):
    return x * settings["scale"]


out = []
for scale in (1.0, 2.0):
    settings["scale"] = scale
    out.append(f(tf.constant(1.0)))
