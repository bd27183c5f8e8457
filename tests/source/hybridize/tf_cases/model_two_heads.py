# A model with two outputs and a helper method.
# Net.__init__: ~effects ~primitive -> ~
# Net.features: tensor computes -> to_graph
# Net.call: tensor computes -> to_graph
import tensorflow as tf
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.body = tf.keras.layers.Dense(4)
        self.policy = tf.keras.layers.Dense(2)
        self.value = tf.keras.layers.Dense(1)
    def features(self, x):
        return tf.nn.tanh(self.body(x))
    def call(self, x):
        h = self.features(x)
        return self.policy(h), self.value(h)
net = Net()
p, v = net(tf.ones([1, 3]))
net.features(tf.ones([1, 3]))
