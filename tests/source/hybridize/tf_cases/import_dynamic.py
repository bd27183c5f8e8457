# TensorFlow by importlib and __import__.
# f: tensor computes -> to_graph
# g: tensor computes -> to_graph
import importlib
tf = importlib.import_module("tensorflow")
t2 = __import__("tensorflow")
def f(x):
    return tf.abs(x)
def g(x):
    return t2.nn.relu(x)
f(tf.ones([1]))
g(t2.ones([1]))
