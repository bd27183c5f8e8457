# Lambdas that capture by default arguments, in a dictionary.
# run: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf
table = {i: (lambda x, i=i: x * float(i)) for i in range(3)}
def run(x, key):
    return table[key](x)
run(tf.ones([1]), 1)
run(tf.ones([1]), 2)
