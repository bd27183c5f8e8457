# A script without functions but one.
# normalise: tensor computes -> to_graph
import tensorflow as tf
import numpy as np
def normalise(batch):
    mean, var = tf.nn.moments(batch, axes=[0])
    return (batch - mean) / tf.sqrt(var + 1e-6)
data = np.arange(12, dtype=np.float32).reshape(4, 3)
for start in range(0, 4, 2):
    out = normalise(tf.convert_to_tensor(data[start : start + 2]))
