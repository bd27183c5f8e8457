# The inner function writes a variable of the outer one: an effect of the inner only.
# outer: tensor computes -> to_graph
# outer.add: tensor effects computes -> no (side_effects)
import tensorflow as tf
def outer(xs):
    total = tf.zeros([2])
    def add(x):
        nonlocal total
        total = total + x
    for x in xs:
        add(x)
    return total
outer([tf.ones([2]), tf.ones([2])])
