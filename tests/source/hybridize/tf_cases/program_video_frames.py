# Windows over frames kept in a deque by one class, computed by another.
#
# Window.__init__: ~effects ~primitive -> ~
# Window.push: tensor effects ~computes -> no (side_effects)
# Window.stack: computes -> no
# optical_difference: tensor computes -> to_graph
# process: tensor effects computes -> no (side_effects)
from collections import deque

import tensorflow as tf


class Window:
    def __init__(self, size):
        self.frames = deque(maxlen=size)

    def push(self, frame):
        self.frames.append(frame)
        return len(self.frames) == self.frames.maxlen

    def stack(self):
        return tf.stack(list(self.frames))


def optical_difference(clip):
    return tf.reduce_mean(tf.abs(clip[1:] - clip[:-1]))


window = Window(2)


def process(frame):
    if window.push(frame):
        return optical_difference(window.stack())
    return tf.constant(0.0)


for i in range(3):
    process(tf.ones([2, 2]) * float(i))
