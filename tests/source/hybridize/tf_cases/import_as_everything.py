# Names imported in every form.
# a: tensor computes -> to_graph
# b: tensor computes -> to_graph
# c: tensor hybrid computes -> add_signature
import tensorflow
import tensorflow as T
from tensorflow import function as graph, constant as C
from tensorflow import math as m
import tensorflow.keras.backend as K
def a(x):
    return m.log(tensorflow.abs(x) + 1.0)
def b(x):
    return T.nn.softmax(x) + m.exp(x)
@graph
def c(x):
    return T.square(x)
a(C([1.0]))
b(C([1.0]))
c(C([1.0]))
