# Batches of a shuffled dataset, enumerated.
#
# step: tensor computes -> to_graph
import tensorflow as tf
ds = tf.data.Dataset.range(10).shuffle(10).batch(2).prefetch(1)
def step(batch):
    return batch * 2
for i, b in enumerate(ds.take(2)):
    step(b)
