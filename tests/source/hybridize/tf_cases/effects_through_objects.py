# Effects of methods on objects that are parts of others.
#
# Log.__init__: ~effects -> ~
# Log.add: effects ~primitive ~tensor -> no
# Trainer.__init__: ~effects -> ~
# Trainer.step: tensor effects computes -> no (side_effects)
# Trainer.pure: tensor computes -> to_graph
# local: tensor computes -> to_graph
import tensorflow as tf


class Log:
    def __init__(self):
        self.lines = []

    def add(self, line):
        self.lines.append(line)


class Trainer:
    def __init__(self, log):
        self.log = log

    def step(self, x):
        self.log.add("step")
        return x * 2.0

    def pure(self, x):
        log = Log()
        log.add("step")
        return x * float(len(log.lines))


def local(x):
    trainer = Trainer(Log())
    return trainer.step(x)


trainer = Trainer(Log())
trainer.step(tf.constant(1.0))
trainer.pure(tf.constant(1.0))
local(tf.constant(1.0))
