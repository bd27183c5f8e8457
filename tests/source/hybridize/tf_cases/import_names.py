# from tensorflow.keras.layers import Dense; names of functions of tf.
#
# f: tensor computes -> to_graph
from tensorflow import constant, reduce_sum
from tensorflow.keras.layers import Dense

dense = Dense(2, kernel_initializer="ones")


def f(x):
    return reduce_sum(dense(x))


f(constant([[1.0, 2.0]]))
