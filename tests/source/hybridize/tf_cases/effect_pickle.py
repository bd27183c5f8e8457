# Pickle into a file.
#
# save: tensor effects computes -> no (side_effects)
import pickle

import tensorflow as tf


def save(x, path):
    with open(path, "wb") as out:
        pickle.dump([1, 2], out)
    return x + 1.0


save(tf.constant(1.0), __import__("pathlib").Path("p.pkl"))
