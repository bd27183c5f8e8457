# Producers of tensors: strings io image.
#
# f0: tensor computes -> to_graph
# f1: tensor computes -> to_graph
# f2: tensor computes -> to_graph
# f3: tensor computes -> to_graph
# f4: tensor computes -> to_graph
# f5: tensor computes -> to_graph
# f6: tensor computes -> to_graph
# f7: tensor computes -> to_graph
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


f0(tf.strings.join(['a', 'b']))
f1(tf.strings.length('abc'))
f2(tf.strings.to_number(['1']))
f3(tf.io.decode_raw(tf.constant('ab'), tf.uint8))
f4(tf.image.resize(matrix[..., None], [2, 2]))
f5(tf.image.flip_left_right(matrix[..., None]))
f6(tf.io.encode_base64('a'))
f7(tf.strings.as_string(base))
