# Producers of tensors: keras.
#
# f0: tensor computes -> to_graph
# f1: tensor computes -> to_graph
# f2: tensor computes -> to_graph
# f3: tensor computes -> to_graph
# f4: tensor computes -> to_graph
# f5: tensor computes -> to_graph
# f6: tensor computes -> to_graph
# f7: tensor computes -> to_graph
# f8: tensor computes -> to_graph
# f9: tensor computes -> to_graph
# f10: tensor computes -> to_graph
import tensorflow as tf

base = tf.constant([1.0, 2.0, 3.0])
matrix = tf.constant([[1.0, 2.0, 0.5], [0.1, 3.0, 1.0], [2.0, 0.3, 4.0]])

def f0(x):
    return x, tf.add(base, 1.0)

def f1(x):
    return x, tf.add(base, 1.0)

def f2(x):
    return x, tf.add(base, 1.0)

def f3(x):
    return x, tf.add(base, 1.0)

def f4(x):
    return x, tf.add(base, 1.0)

def f5(x):
    return x, tf.add(base, 1.0)

def f6(x):
    return x, tf.add(base, 1.0)

def f7(x):
    return x, tf.add(base, 1.0)

def f8(x):
    return x, tf.add(base, 1.0)

def f9(x):
    return x, tf.add(base, 1.0)

def f10(x):
    return x, tf.add(base, 1.0)


f0(tf.keras.layers.Dense(2)(matrix))
f1(tf.keras.layers.Flatten()(matrix))
f2(tf.keras.activations.relu(base))
f3(tf.keras.losses.MeanSquaredError()(base, base))
f4(tf.keras.metrics.Mean()(base))
f5(tf.keras.Sequential([tf.keras.layers.Dense(1)])(matrix))
f6(tf.keras.initializers.Zeros()([2]))
f7(tf.keras.utils.to_categorical is None or base)
f8(tf.keras.layers.LSTM(2)(matrix[None]))
f9(tf.keras.backend.epsilon() * base)
f10(tf.keras.layers.Embedding(3, 2)(tf.constant([1])))
