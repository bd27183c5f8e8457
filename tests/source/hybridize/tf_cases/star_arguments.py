# Tensors through `*args` and `**kwargs`.
# total: tensor computes -> to_graph
# named: tensor computes -> to_graph
# forward: tensor computes -> to_graph
import tensorflow as tf
def total(*xs):
    return tf.add_n(list(xs))
def named(**xs):
    return xs["a"] - xs["b"]
def forward(*args, **kwargs):
    return total(*args) + named(**kwargs)
forward(tf.ones([1]), tf.ones([1]), a=tf.ones([1]), b=tf.ones([1]))
