# Initialisers and regularisers as plain functions and as classes.
#
# l2: tensor computes -> to_graph
# Scaled.__init__: ~effects ~primitive -> ~
# Scaled.__call__: ~tensor ~primitive computes -> no?
# penalty: tensor computes -> to_graph
# orthogonality: tensor computes -> to_graph
import tensorflow as tf


def l2(w):
    return 0.01 * tf.reduce_sum(tf.square(w))


class Scaled(tf.keras.initializers.Initializer):
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, shape, dtype=None, **kwargs):
        return tf.ones(shape, dtype=tf.float32) * self.scale


def penalty(weights):
    return tf.add_n([l2(w) for w in weights])


def orthogonality(w):
    gram = tf.matmul(w, w, transpose_a=True)
    return tf.norm(gram - tf.eye(gram.shape[0]))


dense = tf.keras.layers.Dense(2, kernel_initializer=Scaled(0.5))
dense(tf.ones([1, 3]))
penalty(dense.trainable_variables)
orthogonality(tf.ones([3, 2]))
