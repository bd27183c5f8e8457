# A decorator that times its function: the wrapper does the printing.
# timed: ~computes -> ~
# timed.wrapper: ~tensor effects ~computes -> no?
# slow: tensor computes -> to_graph
import functools
import time
import tensorflow as tf
def timed(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        start = time.time()
        out = f(*args, **kwargs)
        print(time.time() - start > 0)
        return out
    return wrapper
@timed
def slow(x):
    return tf.matmul(x, x)
slow(tf.eye(2))
