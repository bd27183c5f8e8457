# TensorFlow under a name of one's own, the decorator called with nothing.
# twice: hybrid tensor computes -> add_signature
import tensorflow as flow


@flow.function()
def twice(x):
    return x + x


twice(flow.ones([2]))
twice(flow.zeros([2]))
