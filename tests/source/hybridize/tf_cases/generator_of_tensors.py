# A generator makes the tensors.
#
# gen: ~tensor primitive ~computes -> ~
# f: tensor computes -> to_graph
import tensorflow as tf
def gen(n):
    for i in range(n):
        yield tf.fill([2], float(i))
def f(x):
    return x + 1.0
for t in gen(3):
    f(t)
