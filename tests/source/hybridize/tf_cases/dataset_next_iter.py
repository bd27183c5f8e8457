# `next(iter(ds))` and tuple unpacking.
# use: tensor computes -> to_graph
import tensorflow as tf
def use(image, label):
    return tf.reduce_mean(image) + tf.cast(label, tf.float32)
ds = tf.data.Dataset.from_tensor_slices({"image": tf.ones([2, 3]), "label": [0, 1]})
example = next(iter(ds))
use(example["image"], example["label"])
