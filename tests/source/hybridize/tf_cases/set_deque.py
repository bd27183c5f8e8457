# A deque from outside, and one of its own.
# remember: tensor effects -> no (side_effects)
# smooth: tensor computes -> to_graph
from collections import deque
import tensorflow as tf
recent = deque(maxlen=3)
def remember(x):
    recent.append(x)
    return x
def smooth(xs):
    window = deque(maxlen=2)
    for x in xs:
        window.append(x)
    return tf.add_n(list(window))
remember(tf.ones([1]))
smooth([tf.ones([1]), tf.ones([1])])
