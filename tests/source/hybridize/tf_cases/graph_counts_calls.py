# A graph function counts in Python.
# tick: hybrid tensor effects computes -> keep (side_effects)
import tensorflow as tf

calls = 0


@tf.function
def tick(x):
    global calls
    calls += 1
    return x + 1.0


tick(tf.constant(1.0))
