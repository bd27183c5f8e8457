# tf.cond and tf.while_loop with named functions.
# body: tensor computes -> ~
# below: tensor computes -> ~
# run: tensor computes -> to_graph
# pick: tensor computes -> to_graph
import tensorflow as tf
def below(i, x):
    return i < 3
def body(i, x):
    return i + 1, x * 2.0
def run(x):
    return tf.while_loop(below, body, [tf.constant(0), x])[1]
def pick(x):
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x, lambda: -x)
run(tf.ones([2]))
pick(tf.ones([2]))
