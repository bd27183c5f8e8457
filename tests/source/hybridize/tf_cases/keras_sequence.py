# A Sequence makes batches in Python.
# Batches.__init__: ~effects ~tensor ~primitive -> ~
# Batches.__len__: -> no
# Batches.__getitem__: primitive ~computes -> no
# use: tensor computes -> to_graph
import tensorflow as tf
class Batches(tf.keras.utils.Sequence):
    def __init__(self, x):
        super().__init__()
        self.x = x
    def __len__(self):
        return 2
    def __getitem__(self, i):
        return self.x[i * 2 : i * 2 + 2]
def use(x):
    return tf.reduce_mean(x)
b = Batches(tf.ones([4, 2]))
for i in range(len(b)):
    use(b[i])
