# Callables as arguments.
# apply: tensor computes -> to_graph
# twice: tensor computes -> to_graph
# noisy: tensor effects ~computes -> no (side_effects)
import tensorflow as tf
def apply(f, x):
    return f(x) + 1.0
def twice(x):
    return x * 2.0
def noisy(f, x):
    f("about to run")
    return x + 1.0
apply(twice, tf.ones([1]))
noisy(print, tf.ones([1]))
