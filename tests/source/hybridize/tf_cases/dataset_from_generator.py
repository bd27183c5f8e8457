# A dataset from a generator.
#
# numbers: -> no
# step: tensor computes -> to_graph
import tensorflow as tf


def numbers():
    for i in range(3):
        yield float(i)


def step(x):
    return x * 2.0


dataset = tf.data.Dataset.from_generator(numbers, output_signature=tf.TensorSpec((), tf.float32))
for x in dataset:
    step(x)
