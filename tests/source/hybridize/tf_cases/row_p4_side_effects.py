# A hybrid function of tensors with an effect: neither a signature nor eager.
#
# f: hybrid tensor effects computes -> no (side_effects)
import tensorflow as tf

seen = []


@tf.function
def f(x):
    seen.append("called")
    return x * 2


f(tf.constant([1, 2]))
