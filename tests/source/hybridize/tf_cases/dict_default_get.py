# `get` with a default, and `setdefault` on a local dictionary.
# pick: tensor computes -> to_graph
import tensorflow as tf
def pick(batch):
    weights = batch.get("w", tf.ones([1]))
    cache = {}
    cache.setdefault("x", []).append(batch["x"])
    return cache["x"][0] * weights
pick({"x": tf.ones([1])})
