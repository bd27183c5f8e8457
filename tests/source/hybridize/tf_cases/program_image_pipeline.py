# A data pipeline: decode, augment, batch; then a step over it.
#
# fake_image: ~tensor ~primitive computes -> ~
# augment: tensor computes -> ~
# normalise: tensor computes -> ~
# make_dataset: primitive ~computes -> no
# accuracy: tensor computes -> to_graph
import tensorflow as tf

AUTOTUNE = tf.data.AUTOTUNE
SIZE = 8


def fake_image(index):
    return tf.cast(tf.ones([SIZE, SIZE, 3]) * tf.cast(index, tf.float32), tf.uint8), index % 2


def augment(image, label):
    image = tf.image.flip_left_right(image)
    image = tf.image.adjust_brightness(tf.cast(image, tf.float32), 0.1)
    return image, label


def normalise(image, label):
    return tf.cast(image, tf.float32) / 255.0, label


def make_dataset(count, training=False):
    ds = tf.data.Dataset.range(count).map(fake_image, num_parallel_calls=AUTOTUNE)
    if training:
        ds = ds.shuffle(16, seed=0).map(augment)
    return ds.map(normalise).batch(2).prefetch(AUTOTUNE)


def accuracy(labels, logits):
    predicted = tf.argmax(logits, axis=-1, output_type=tf.int64)
    return tf.reduce_mean(tf.cast(predicted == labels, tf.float32))


model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(2)])
for images, labels in make_dataset(4, training=False):
    accuracy(labels, model(images))
