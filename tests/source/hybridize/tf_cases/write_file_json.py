# Results are dumped as JSON by a helper that opens the file.
# dump: primitive effects -> no
# summarise: tensor effects computes -> no (side_effects)
import json
import tensorflow as tf
def dump(values, path):
    with open(path, "w") as f:
        json.dump(values, f)
def summarise(x):
    y = tf.reduce_mean(x)
    dump({"rank": len(x.shape)}, "summary.json")
    return y
summarise(tf.ones([2]))
