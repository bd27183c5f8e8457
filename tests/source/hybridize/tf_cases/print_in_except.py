# A handler that prints still prints.
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf
def f(x):
    try:
        return tf.reshape(x, [2, 2])
    except ValueError as e:
        print(e)
        return x
f(tf.ones([4]))
