# `Model` further up among the ancestors, in another class of the project.
#
# Base.helper: tensor computes -> to_graph
# Net.call: tensor computes -> to_graph
import tensorflow as tf


class Base(tf.keras.Model):
    def helper(self, x):
        return x * 2.0


class Net(Base):
    def call(self, x):
        return self.helper(x) + 1.0


Net()(tf.ones([2, 3]))
