# A generator function behind a dataset.
# source: primitive -> no
# total: tensor computes -> to_graph
import tensorflow as tf
def source(n):
    for i in range(n):
        yield float(i)
def total(batch):
    return tf.reduce_sum(batch)
ds = tf.data.Dataset.from_generator(lambda: source(4), output_signature=tf.TensorSpec([], tf.float32)).batch(2)
for batch in ds.take(2):
    total(batch)
