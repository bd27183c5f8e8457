# A recursive graph function.
# fact: tensor hybrid recursive computes -> keep (recursive)
import tensorflow as tf
@tf.function
def fact(n):
    if n <= 1:
        return tf.constant(1)
    return n * fact(n - 1)
def start():
    return fact
start()
t = tf.constant(3)
if t < 0:
    fact(t)
