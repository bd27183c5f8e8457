# What comes back as a tuple, a dict and a list goes on as arguments.
# split: tensor computes -> to_graph
# join: tensor computes -> to_graph
# pack: tensor computes -> to_graph
import tensorflow as tf
def split(x):
    return x[:1], {"rest": x[1:]}, [x]
def join(a, b, c):
    return a + b["rest"] + c[0][:1]
def pack(x):
    return join(*split(x))
pack(tf.ones([2]))
