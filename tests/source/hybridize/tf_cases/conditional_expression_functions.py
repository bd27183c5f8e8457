# One of two functions is called; one of them prints.
# quiet: tensor computes -> to_graph
# loud: tensor effects computes -> no (side_effects)
# either: tensor effects computes -> no (side_effects)
import tensorflow as tf
def quiet(x):
    return x * 2.0
def loud(x):
    print("x")
    return x * 2.0
def either(x, verbose):
    f = loud if verbose else quiet
    return f(x)
either(tf.ones([1]), True)
either(tf.ones([1]), False)
