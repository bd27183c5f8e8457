# An operator that runs a method with an effect.
#
# Log.__init__: ~effects -> ~
# Log.__iadd__: effects ~primitive -> no
# Log.__setitem__: effects ~primitive -> no
# f: tensor effects computes -> no (side_effects)
# g: tensor effects computes -> no (side_effects)
import tensorflow as tf


class Log:
    def __init__(self):
        self.lines = []

    def __iadd__(self, line):
        self.lines.append(line)
        return self

    def __setitem__(self, key, value):
        self.lines.append((key, value))


log = Log()


def f(x):
    global log
    log += "f"
    return x + 1.0


def g(x):
    log["g"] = 1
    return x + 1.0


f(tf.constant(1.0))
g(tf.constant(1.0))
