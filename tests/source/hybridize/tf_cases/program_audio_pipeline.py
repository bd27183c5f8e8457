# Audio: framing, windows, spectra.
#
# frame: tensor primitive computes -> no (primitive_parameter)
# spectrogram: tensor computes -> to_graph
# log_compress: tensor computes -> to_graph
# Augment.__init__: ~effects ~primitive -> ~
# Augment.__call__: tensor ~effects computes -> unsafe
import random

import tensorflow as tf


def frame(signal, length, step):
    return tf.signal.frame(signal, length, step)


def spectrogram(signal):
    frames = frame(signal, 8, 4)
    window = tf.signal.hann_window(8)
    return tf.abs(tf.signal.rfft(frames * window))


def log_compress(x, floor=1e-6):
    return tf.math.log(tf.maximum(x, floor))


class Augment:
    def __init__(self, amount):
        self.amount = amount

    def __call__(self, x):
        gain = 1.0 + random.uniform(-self.amount, self.amount)
        return x * gain


signal = tf.sin(tf.linspace(0.0, 10.0, 32))
log_compress(spectrogram(Augment(0.1)(signal)))
