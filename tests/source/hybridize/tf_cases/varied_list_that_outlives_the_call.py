# A list of the module keeps the tensors of all calls.
# remember: tensor effects computes -> no (side_effects)
# recall: tensor computes -> ~
import tensorflow as tf

kept = []


def remember(x):
    y = tf.nn.tanh(x)
    kept.append(y)
    return y


def recall(x):
    return tf.add_n([x, *kept[-2:]])


for step in range(3):
    remember(tf.ones([2]) * float(step))
    print(recall(tf.zeros([2])).numpy())
