# Somewhere below something is written to a file.
# save: tensor effects ~computes -> no (side_effects)
# step: tensor effects computes -> no (side_effects)
import tensorflow as tf


def save(x):
    with open("out.txt", "w") as file:
        file.write(str(x.shape))


def step(x):
    y = tf.nn.softmax(x)
    save(y)
    return y


step(tf.ones([3]))
