# Keyword dictionaries are new at every call.
# merge: tensor primitive computes -> no (primitive_parameter)
# update: tensor effects -> no (side_effects)
import tensorflow as tf
def merge(x, **options):
    options.update(scale=2.0)
    options["shift"] = 1.0
    return x * options["scale"] + options["shift"]
def update(x, options):
    options.update(last=x)
merge(tf.ones([1]), scale=1.0)
update(tf.ones([1]), {})
