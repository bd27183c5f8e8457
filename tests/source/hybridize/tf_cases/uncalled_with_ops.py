# Nobody calls these, and nothing hints: whether their parameters are tensors cannot be determined.
# loss: tensor? ~primitive ~computes -> no? (tensor_unknown)
# log_loss: tensor? ~primitive effects ~computes -> no?
# fill: tensor? ~primitive effects ~computes -> no?
import tensorflow as tf
def loss(y, p):
    return tf.reduce_mean(tf.square(y - p))
def log_loss(y, p):
    print(y, p)
    return loss(y, p)
def fill(out, x):
    out["x"] = tf.abs(x)
