# A list that lives inside is nobody's business.
# layers: tensor computes -> to_graph
import tensorflow as tf


def layers(x):
    outputs = []
    for _ in range(3):
        x = tf.nn.tanh(x)
        outputs.append(x)
    return tf.stack(outputs)


layers(tf.constant([0.1, 0.2]))
