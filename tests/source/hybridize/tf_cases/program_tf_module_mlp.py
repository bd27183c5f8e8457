# tf.Module without Keras, with variables made lazily under tf.function.
#
# Dense.__init__: ~effects ~primitive ~computes -> ~
# Dense.__call__: tensor computes -> ~
# MLP.__init__: ~effects ~primitive ~computes -> ~
# MLP.__call__: hybrid tensor computes -> add_signature|keep
# sgd: ~tensor ~primitive computes -> ~
import tensorflow as tf


class Dense(tf.Module):
    def __init__(self, n_in, n_out, name=None):
        super().__init__(name=name)
        self.w = tf.Variable(tf.ones([n_in, n_out]) * 0.1)
        self.b = tf.Variable(tf.zeros([n_out]))

    def __call__(self, x):
        return tf.nn.relu(x @ self.w + self.b)


class MLP(tf.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = [Dense(a, b) for a, b in zip(sizes, sizes[1:])]

    @tf.function
    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def sgd(variables, grads, rate=0.1):
    for v, g in zip(variables, grads):
        v.assign_sub(rate * g)


mlp = MLP([2, 3, 1])
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(mlp(tf.ones([4, 2])))
sgd(mlp.trainable_variables, tape.gradient(loss, mlp.trainable_variables))
