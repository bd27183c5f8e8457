# A generator that writes a global while it is walked.
# numbers: effects -> no
# total: tensor effects computes -> no (side_effects)
import tensorflow as tf
steps = []
def numbers():
    for i in range(3):
        steps.append(i)
        yield float(i)
def total(x):
    for n in numbers():
        x = x + n
    return x
total(tf.ones([1]))
