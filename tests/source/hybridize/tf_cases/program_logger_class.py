# A logger that is handed to everything.
#
# Logger.__init__: ~effects ~primitive -> ~
# Logger.scalar: effects ~primitive ~tensor ~computes -> no
# Logger.summary: effects -> no
# train_batch: tensor effects computes -> no (side_effects)
# quiet_batch: tensor computes -> to_graph
import sys

import tensorflow as tf


class Logger:
    def __init__(self, stream=sys.stdout):
        self.stream = stream
        self.rows = {}

    def scalar(self, name, value):
        self.rows.setdefault(name, []).append(float(value))

    def summary(self):
        for name, values in self.rows.items():
            self.stream.write(f"{name}: {len(values)}\n")


def train_batch(x, logger):
    loss = tf.reduce_mean(x)
    logger.scalar("loss", loss)
    return loss


def quiet_batch(x, logger=None):
    loss = tf.reduce_mean(x)
    return loss


logger = Logger()
train_batch(tf.ones([3]), logger)
quiet_batch(tf.ones([3]))
logger.summary()
