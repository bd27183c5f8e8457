# A functional autoencoder; only the error is a function of tensors.
#
# conv_block: ~tensor primitive computes -> no
# build_autoencoder: ~primitive ~computes -> no
# reconstruction_error: tensor computes -> to_graph
import tensorflow as tf
from tensorflow.keras.layers import Conv2D, Input, MaxPooling2D, UpSampling2D
from tensorflow.keras.models import Model


def conv_block(x, filters):
    x = Conv2D(filters, (3, 3), activation="relu", padding="same")(x)
    return MaxPooling2D((2, 2), padding="same")(x)


def build_autoencoder(shape=(8, 8, 1)):
    inputs = Input(shape=shape)
    x = conv_block(inputs, 4)
    x = conv_block(x, 2)
    x = UpSampling2D((4, 4))(x)
    outputs = Conv2D(1, (3, 3), activation="sigmoid", padding="same")(x)
    return Model(inputs, outputs)


autoencoder = build_autoencoder()


def reconstruction_error(images):
    return tf.reduce_mean(tf.square(autoencoder(images) - images), axis=[1, 2, 3])


batch = tf.ones([2, 8, 8, 1])
errors = reconstruction_error(batch)
threshold = float(tf.reduce_max(errors))
