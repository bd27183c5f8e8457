# A graph function that only packs its tensors.
# pack: tensor hybrid -> to_eager
import tensorflow as tf
@tf.function
def pack(a, b):
    return {"a": a, "b": b}
pack(tf.ones([1]), tf.ones([1]))
