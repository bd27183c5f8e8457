# A dictionary of features.
# joined: tensor computes -> to_graph
import tensorflow as tf


def joined(features):
    return tf.concat([features["left"], features["right"]], axis=-1)


joined({"left": tf.ones([2, 1]), "right": tf.zeros([2, 3])})
