# `function` is imported by its name, and `tf` is something else's name for it.
# doubled: hybrid tensor computes -> ~
# energy: tensor computes -> to_graph
import tensorflow as flow
from tensorflow import function


@function
def doubled(x):
    return flow.add(x, x)


def energy(x, v):
    return 0.5 * flow.reduce_sum(v * v) + flow.reduce_sum(flow.square(x) + doubled(x))


for step in range(3):
    print(energy(flow.ones([3]) * float(step), flow.ones([3])).numpy())
