# An exponential moving average of weights, as a class with shadow variables.
#
# EMA.__init__: ~effects ~primitive ~tensor ~computes -> ~
# EMA.update: ~effects computes -> no (no_tensor_parameter)
# EMA.average: tensor computes -> to_graph
# blend: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def blend(old, new, decay):
    return old * decay + new * (1.0 - decay)


class EMA:
    def __init__(self, variables, decay=0.9):
        self.variables = variables
        self.decay = decay
        self.shadow = [tf.Variable(v, trainable=False) for v in variables]

    def update(self):
        for s, v in zip(self.shadow, self.variables):
            s.assign(blend(s, v, self.decay))

    def average(self, x):
        return tf.add_n([x * s for s in self.shadow])


w = tf.Variable([1.0, 2.0])
ema = EMA([w])
for _ in range(2):
    w.assign_add([1.0, 1.0])
    ema.update()
ema.average(tf.constant([1.0, 1.0]))
