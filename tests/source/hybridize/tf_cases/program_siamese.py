# A siamese network with a contrastive loss and a distance helper.
#
# euclidean_distance: tensor computes -> to_graph
# contrastive_loss: tensor computes -> to_graph
# Siamese.__init__: ~effects ~primitive -> ~
# Siamese.embed: tensor computes -> to_graph
# Siamese.call: tensor computes -> to_graph
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import backend as K


def euclidean_distance(vects):
    x, y = vects
    sum_square = tf.reduce_sum(tf.square(x - y), axis=1, keepdims=True)
    return tf.sqrt(tf.maximum(sum_square, K.epsilon()))


def contrastive_loss(y_true, y_pred, margin=1.0):
    y_true = tf.cast(y_true, y_pred.dtype)
    square_pred = tf.square(y_pred)
    margin_square = tf.square(tf.maximum(margin - y_pred, 0.0))
    return tf.reduce_mean(y_true * square_pred + (1.0 - y_true) * margin_square)


class Siamese(keras.Model):
    def __init__(self, width):
        super().__init__()
        self.net = keras.Sequential([keras.layers.Dense(width, activation="relu"), keras.layers.Dense(2)])

    def embed(self, x):
        return tf.math.l2_normalize(self.net(x), axis=-1)

    def call(self, inputs):
        a, b = inputs["a"], inputs["b"]
        return euclidean_distance([self.embed(a), self.embed(b)])


model = Siamese(4)
out = model({"a": tf.ones([2, 3]), "b": tf.zeros([2, 3])})
contrastive_loss(tf.constant([1, 0]), out[:, 0])
