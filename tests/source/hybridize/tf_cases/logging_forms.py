# Logging in several forms.
# a: tensor effects computes -> no (side_effects)
# b: tensor effects computes -> no (side_effects)
# c: tensor effects computes -> no (side_effects)
import logging
import sys
import tensorflow as tf
log = logging.getLogger(__name__)
log.setLevel(logging.CRITICAL)
def a(x):
    log.info("shape %s", x.shape)
    return x + 1.0
def b(x):
    sys.stderr.write("b\n")
    return x + 1.0
def c(x):
    logging.getLogger("other").debug("c")
    return x + 1.0
a(tf.ones([1]))
b(tf.ones([1]))
c(tf.ones([1]))
