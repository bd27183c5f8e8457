# Numbers from a configuration dictionary.
# build: primitive ~computes -> no
# forward: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf
config = {"units": 4, "rate": 0.5}
def build(units):
    return tf.Variable(tf.ones([3, units]))
def forward(x, w, rate):
    return tf.nn.relu(x @ w) * rate
forward(tf.ones([1, 3]), build(config["units"]), config["rate"])
