# Producers of tensors: containers.
#
# f0: tensor computes -> to_graph
# f1: tensor primitive computes -> no (primitive_parameter)
# f2: tensor computes -> to_graph
# f3: tensor computes -> to_graph
# f4: tensor computes -> to_graph
# f5: tensor computes -> to_graph
# f6: tensor computes -> to_graph
# f7: tensor computes -> to_graph
# f8: tensor computes -> to_graph
# f9: tensor computes -> to_graph
# f10: tensor computes -> to_graph
# f11: tensor primitive computes -> no (primitive_parameter)
# f12: tensor computes -> to_graph
# f13: tensor computes -> to_graph
# f14: tensor primitive computes -> no (primitive_parameter)
# f15: tensor computes -> to_graph
# f16: tensor computes -> to_graph
# f17: tensor computes -> to_graph
# f18: tensor computes -> to_graph
# f19: tensor computes -> to_graph
import tensorflow as tf

base = tf.constant([1.0, 2.0, 3.0])
matrix = tf.constant([[1.0, 2.0, 0.5], [0.1, 3.0, 1.0], [2.0, 0.3, 4.0]])

def f0(x):
    return x, tf.add(base, 1.0)

def f1(x):
    return x, tf.add(base, 1.0)

def f2(x):
    return x, tf.add(base, 1.0)

def f3(x):
    return x, tf.add(base, 1.0)

def f4(x):
    return x, tf.add(base, 1.0)

def f5(x):
    return x, tf.add(base, 1.0)

def f6(x):
    return x, tf.add(base, 1.0)

def f7(x):
    return x, tf.add(base, 1.0)

def f8(x):
    return x, tf.add(base, 1.0)

def f9(x):
    return x, tf.add(base, 1.0)

def f10(x):
    return x, tf.add(base, 1.0)

def f11(x):
    return x, tf.add(base, 1.0)

def f12(x):
    return x, tf.add(base, 1.0)

def f13(x):
    return x, tf.add(base, 1.0)

def f14(x):
    return x, tf.add(base, 1.0)

def f15(x):
    return x, tf.add(base, 1.0)

def f16(x):
    return x, tf.add(base, 1.0)

def f17(x):
    return x, tf.add(base, 1.0)

def f18(x):
    return x, tf.add(base, 1.0)

def f19(x):
    return x, tf.add(base, 1.0)


f0([base, matrix])
f1((base, 1))
f2({'a': base})
f3([[base], [matrix]])
f4(dict(a=base))
f5(tuple([base]))
f6(list((base, base)))
f7([base] * 2)
f8([b for b in (base, base)])
f9({'a': {'b': [base]}})
f10([*[base], base])
f11({**{'a': base}, 'b': 1})
f12(sorted([base], key=lambda t: 0))
f13(list(zip([base], [matrix])))
f14(list(enumerate([base]))[0])
f15(tuple(t * 2.0 for t in (base,)))
f16(list(map(tf.abs, [base])))
f17(list(filter(lambda t: True, [base])))
f18(list({'a': base}.values()))
f19([base].copy())
