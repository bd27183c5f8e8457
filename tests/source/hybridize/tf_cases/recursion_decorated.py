# Memoised recursion.
# table: primitive recursive ~effects computes -> no
import functools
import tensorflow as tf
@functools.lru_cache(maxsize=None)
def table(n):
    return tf.zeros([1]) if n == 0 else table(n - 1) + 1.0
table(3)
