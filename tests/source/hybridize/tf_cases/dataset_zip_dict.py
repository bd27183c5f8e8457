# Zipped datasets of dictionaries.
# loss: tensor computes -> to_graph
import tensorflow as tf
def loss(features, label):
    return tf.reduce_mean((features["a"] - label) ** 2)
left = tf.data.Dataset.from_tensor_slices({"a": [1.0, 2.0], "b": [3.0, 4.0]})
right = tf.data.Dataset.from_tensor_slices([1.0, 0.0])
for features, label in tf.data.Dataset.zip((left, right)):
    loss(features, label)
