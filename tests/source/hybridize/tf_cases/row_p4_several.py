# Signatures of two tensors of different dtypes.
# gather: tensor hybrid computes -> add_signature
# shaped: tensor hybrid computes -> keep (already_optimal)
import tensorflow as tf
@tf.function
def gather(table, ids):
    return tf.gather(table, ids)
@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
def shaped(x):
    return x * 2.0
gather(tf.ones([4, 2]), tf.constant([0, 1]))
shaped(tf.ones([3]))
