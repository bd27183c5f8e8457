# A graph function of nothing.
# table: hybrid computes -> to_eager
# rows: primitive hybrid computes -> to_eager
import tensorflow as tf
@tf.function
def table():
    return tf.range(4)
@tf.function
def rows(n):
    return tf.zeros([n])
table()
rows(3)
