# Observers are called; one of them prints.
# notify: tensor effects ~computes -> no (side_effects)
# quiet: tensor computes -> to_graph
# loud: tensor effects -> no (side_effects)
import tensorflow as tf
observers = []
def quiet(x):
    return x + 1.0
def loud(x):
    print("x")
observers.append(quiet)
observers.append(loud)
def notify(x):
    for o in observers:
        o(x)
    return x
notify(tf.ones([1]))
