# Everything by a star.
# f: tensor computes -> to_graph
from tensorflow import *
def f(x):
    return reduce_sum(x) + constant(1.0)
f(ones([2]))
