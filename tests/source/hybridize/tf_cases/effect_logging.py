# Logging, through a module and through a logger.
#
# f: tensor effects computes -> no (side_effects)
# g: tensor effects computes -> no (side_effects)
import logging

import tensorflow as tf

logger = logging.getLogger(__name__)


def f(x):
    logging.warning("f")
    return x + 1.0


def g(x):
    logger.info("g %s", x.shape)
    return x + 2.0


f(tf.constant(1.0))
g(tf.constant(1.0))
