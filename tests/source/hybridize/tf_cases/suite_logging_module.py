# A logger writes.
# step: tensor effects computes -> no (side_effects)
import logging

import tensorflow as tf

log = logging.getLogger(__name__)


def step(x):
    log.info("a step")
    return x - 0.1


step(tf.ones([2]))
