# A function given to map.
#
# parse: tensor computes -> to_graph
import tensorflow as tf
def parse(x):
    return tf.cast(x, tf.float32) / 255.0
ds = tf.data.Dataset.from_tensor_slices(tf.range(4)).map(parse)
