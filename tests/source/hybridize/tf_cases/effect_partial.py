# Through functools.partial.
#
# note: ~tensor effects ~primitive -> no
# f: tensor effects computes -> no (side_effects)
from functools import partial

import tensorflow as tf

log = []


def note(prefix, text):
    log.append(prefix + text)


short = partial(note, "f: ")


def f(x):
    short("called")
    return x + 1.0


f(tf.constant(1.0))
