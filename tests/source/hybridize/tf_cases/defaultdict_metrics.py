# Values are appended to a dictionary of lists that the caller made.
# record: tensor effects -> no (side_effects)
import tensorflow as tf
from collections import defaultdict
def record(history, loss):
    history["loss"].append(loss)
h = defaultdict(list)
record(h, tf.constant(0.5))
