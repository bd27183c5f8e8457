# Producers of tensors: control.
#
# f0: tensor computes -> to_graph
# f1: tensor computes -> to_graph
# f2: tensor computes -> to_graph
# f3: tensor computes -> to_graph
# f4: tensor computes -> to_graph
# f5: tensor computes -> to_graph
# f6: tensor computes -> to_graph
# f7: tensor computes -> to_graph
# f8: tensor computes -> to_graph
# f9: tensor computes -> to_graph
# f10: tensor computes -> to_graph
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


f0(tf.cond(tf.constant(True), lambda: base, lambda: -base))
f1(tf.while_loop(lambda i: i < 3, lambda i: (i + 1,), (tf.constant(0),))[0])
f2(tf.map_fn(lambda t: t * 2.0, base))
f3(tf.vectorized_map(lambda t: t * 2.0, base))
f4(tf.scan(lambda a, b: a + b, base))
f5(tf.foldl(lambda a, b: a + b, base))
f6(tf.case([(tf.constant(True), lambda: base)], default=lambda: -base))
f7(tf.switch_case(tf.constant(0), [lambda: base]))
f8(tf.stop_gradient(base))
f9(tf.nest.map_structure(lambda t: t + 1.0, [base]))
f10(tf.recompute_grad(lambda t: t * 2.0)(base))
