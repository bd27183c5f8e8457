# Values that are no tensors.
#
# f0: ~primitive computes -> no (no_tensor_parameter)
# f1: ~primitive computes -> no (no_tensor_parameter)
# f2: ~primitive computes -> no (no_tensor_parameter)
# f3: ~primitive computes -> no (no_tensor_parameter)
# f4: ~primitive computes -> no (no_tensor_parameter)
# f5: ~primitive computes -> no (no_tensor_parameter)
# f6: ~primitive computes -> no (no_tensor_parameter)
# f7: ~primitive computes -> no (no_tensor_parameter)
# f8: tensor ~primitive computes -> to_graph
# f9: tensor ~primitive computes -> to_graph
# f10: ~primitive computes -> no (no_tensor_parameter)
# f11: ~primitive computes -> no (no_tensor_parameter)
# f12: ~primitive computes -> no (no_tensor_parameter)
# f13: tensor ~primitive computes -> to_graph
# f14: tensor ~primitive computes -> to_graph
# f15: ~primitive computes -> no (no_tensor_parameter)
# f16: ~primitive computes -> no (no_tensor_parameter)
# f17: ~primitive computes -> no (no_tensor_parameter)
# f18: ~primitive computes -> no (no_tensor_parameter)
# f19: ~primitive computes -> no (no_tensor_parameter)
# f20: ~primitive computes -> no (no_tensor_parameter)
# f21: ~primitive computes -> no (no_tensor_parameter)
# f22: ~primitive computes -> no (no_tensor_parameter)
# f23: ~primitive computes -> no (no_tensor_parameter)
# f24: ~primitive computes -> no (no_tensor_parameter)
# f25: ~primitive computes -> no (no_tensor_parameter)
# f26: ~primitive computes -> no (no_tensor_parameter)
# f27: ~primitive computes -> no (no_tensor_parameter)
# f28: ~primitive computes -> no (no_tensor_parameter)
# f29: ~primitive computes -> no (no_tensor_parameter)
# f30: ~primitive computes -> no (no_tensor_parameter)
import numpy as np
import tensorflow as tf

base = tf.constant([1.0, 2.0, 3.0])

def f0(x):
    return tf.add(base, 1.0)

def f1(x):
    return tf.add(base, 1.0)

def f2(x):
    return tf.add(base, 1.0)

def f3(x):
    return tf.add(base, 1.0)

def f4(x):
    return tf.add(base, 1.0)

def f5(x):
    return tf.add(base, 1.0)

def f6(x):
    return tf.add(base, 1.0)

def f7(x):
    return tf.add(base, 1.0)

def f8(x):
    return tf.add(base, 1.0)

def f9(x):
    return tf.add(base, 1.0)

def f10(x):
    return tf.add(base, 1.0)

def f11(x):
    return tf.add(base, 1.0)

def f12(x):
    return tf.add(base, 1.0)

def f13(x):
    return tf.add(base, 1.0)

def f14(x):
    return tf.add(base, 1.0)

def f15(x):
    return tf.add(base, 1.0)

def f16(x):
    return tf.add(base, 1.0)

def f17(x):
    return tf.add(base, 1.0)

def f18(x):
    return tf.add(base, 1.0)

def f19(x):
    return tf.add(base, 1.0)

def f20(x):
    return tf.add(base, 1.0)

def f21(x):
    return tf.add(base, 1.0)

def f22(x):
    return tf.add(base, 1.0)

def f23(x):
    return tf.add(base, 1.0)

def f24(x):
    return tf.add(base, 1.0)

def f25(x):
    return tf.add(base, 1.0)

def f26(x):
    return tf.add(base, 1.0)

def f27(x):
    return tf.add(base, 1.0)

def f28(x):
    return tf.add(base, 1.0)

def f29(x):
    return tf.add(base, 1.0)

def f30(x):
    return tf.add(base, 1.0)


f0(tf.float32)
f1(tf.TensorShape([2]))
f2(base.shape)
f3(base.dtype)
f4(tf.TensorSpec([2], tf.float32))
f5(tf.keras.layers.Dense(2))
f6(tf.keras.Sequential([]))
f7(tf.keras.optimizers.SGD())
f8(np.ones(2))
f9(base.numpy())
f10([1, 2, 3])
f11({'a': 1})
f12(range(3))
f13(np.array(base))
f14(tf.data.Dataset.range(2).cardinality().numpy())
f15(tf.keras.losses.MeanSquaredError())
f16(lambda: base)
f17(tf.Module())
f18(base.shape.as_list())
f19(float(base[0]))
f20(int(tf.reduce_sum(base)))
f21(base.get_shape())
f22(tf.keras.metrics.Mean())
f23(str(base))
f24(len(base))
f25(isinstance(base, tf.Tensor))
f26(tf.executing_eagerly())
f27(tf.GradientTape())
f28(tf.random.Generator.from_seed(1))
f29(tf.is_tensor(base))
f30(base.numpy().tolist())
