# Input and output through pathlib and os.
#
# f: tensor effects computes -> no (side_effects)
# g: tensor effects computes -> no (side_effects)
import os
from pathlib import Path

import tensorflow as tf


def f(x):
    Path("note.txt").write_text("called")
    return x + 1.0


def g(x):
    os.makedirs("made", exist_ok=True)
    return x + 2.0


f(tf.constant(1.0))
g(tf.constant(1.0))
