# A hybrid function without tensor parameters but with an effect is left alone: eager it would behave differently.
#
# announce: hybrid effects computes -> no (side_effects)
import tensorflow as tf


@tf.function
def announce():
    print("tracing")
    return tf.ones([2]) + 1.0


announce()
