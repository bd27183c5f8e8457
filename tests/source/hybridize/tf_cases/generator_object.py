# A generator keeps its state in a variable, which graphs use as well.
# noisy: tensor computes -> to_graph
import tensorflow as tf
rng = tf.random.Generator.from_seed(3)
def noisy(x):
    return x + rng.normal([3])
noisy(tf.ones([3]))
