# A class attribute is set.
#
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf
class Holder:
    value = None
def f(x):
    Holder.value = x
    return x * 2
f(tf.constant(2.0))
