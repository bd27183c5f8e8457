# import tensorflow, spelled out.
#
# f: tensor computes -> to_graph
# g: hybrid tensor computes -> add_signature
import tensorflow


def f(x):
    return tensorflow.nn.softmax(x)


@tensorflow.function
def g(x):
    return x + 2.0


f(tensorflow.constant([1.0]))
g(tensorflow.constant([1.0]))
