# Options and sizes of a dataset are Python objects.
# describe: -> no
# prepare: primitive -> no
import tensorflow as tf
def prepare(ds, size):
    return ds.shuffle(size).repeat(2).prefetch(tf.data.AUTOTUNE)
def describe(ds):
    return ds.element_spec
describe(prepare(tf.data.Dataset.range(3), 10))
