# Functions register themselves; the registry is only read later.
# register: effects -> no
# relu: tensor computes -> to_graph
# run: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf
REGISTRY = {}
def register(f):
    REGISTRY[f.__name__] = f
    return f
@register
def relu(x):
    return tf.nn.relu(x)
def run(name, x):
    return REGISTRY[name](x)
run("relu", tf.ones([1]))
