# A layer of its own making.
#
# Dense.__init__: ~effects ~primitive ~computes -> ~
# Dense.__call__: tensor computes -> to_graph
import tensorflow as tf
class Dense(tf.Module):
    def __init__(self, n, m):
        super().__init__()
        self.w = tf.Variable(tf.random.normal([n, m]))
        self.b = tf.Variable(tf.zeros([m]))
    def __call__(self, x):
        return tf.nn.relu(tf.matmul(x, self.w) + self.b)
d = Dense(2, 3)
d(tf.ones([1, 2]))
