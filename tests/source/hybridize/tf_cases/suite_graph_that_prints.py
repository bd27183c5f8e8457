# A graph function with a side effect: taking the decorator off would print more often.
# step: hybrid tensor effects computes -> keep (side_effects)
import tensorflow as tf


@tf.function
def step(x):
    print("tracing")
    return x + 1.0


step(tf.ones([2]))
step(tf.zeros([2]))
