# A file is written with `with open`.
# save: tensor primitive effects ~computes -> no (side_effects)
# roundtrip: tensor effects computes -> no (side_effects)
import tensorflow as tf
def save(x, path):
    with open(path, "w") as f:
        f.write(str(x.shape))
def roundtrip(x):
    save(x, "out_roundtrip.txt")
    return x * 2.0
for name in ("a", "b"):
    save(tf.ones([2]), f"{name}.txt")
roundtrip(tf.ones([2]))
