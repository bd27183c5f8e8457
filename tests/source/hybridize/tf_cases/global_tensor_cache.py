# A global dictionary of tensors that is filled on demand.
# basis: primitive effects computes -> no
# project: tensor effects computes -> no (side_effects)
import tensorflow as tf
CACHE = {}
def basis(n):
    if n not in CACHE:
        CACHE[n] = tf.eye(n)
    return CACHE[n]
def project(x):
    return x @ basis(2)
project(tf.ones([1, 2]))
