# Producers of tensors: nn.
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


f0(tf.nn.relu(base))
f1(tf.nn.softmax(base))
f2(tf.nn.l2_normalize(base))
f3(tf.nn.dropout(base, 0.5))
f4(tf.nn.conv1d(base[None, :, None], matrix[:2, :1, None], 1, 'SAME'))
f5(tf.nn.embedding_lookup(matrix, [0]))
f6(tf.nn.sigmoid_cross_entropy_with_logits(labels=base, logits=base))
f7(tf.sigmoid(base))
f8(tf.tanh(base))
f9(tf.nn.batch_normalization(base, 0.0, 1.0, None, None, 1e-3))
