# A hash table of TensorFlow is no Python state.
# encode: tensor computes -> to_graph
import tensorflow as tf
table = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(tf.constant(["a", "b"]), tf.constant([0, 1])), default_value=-1
)
def encode(words):
    return table.lookup(words)
encode(tf.constant(["a", "z"]))
