# Numerical and analytic gradients, higher-order functions, a Jacobian.
#
# f: tensor computes -> to_graph
# analytic: tensor computes -> to_graph
# numeric: tensor primitive computes -> no (primitive_parameter)
# jacobian: tensor computes -> to_graph
# hessian: tensor computes -> to_graph
import tensorflow as tf


def f(x):
    return tf.reduce_sum(tf.sin(x) * x)


def analytic(fn, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = fn(x)
    return tape.gradient(y, x)


def numeric(fn, x, eps):
    grads = []
    for i in range(x.shape[0]):
        e = tf.one_hot(i, x.shape[0]) * eps
        grads.append((fn(x + e) - fn(x - e)) / (2 * eps))
    return tf.stack(grads)


def jacobian(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.stack([tf.sin(x[0]), x[0] * x[1]])
    return tape.jacobian(y, x)


def hessian(x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        g = inner.gradient(y, x)
    return outer.jacobian(g, x)


x = tf.constant([0.5, 1.0])
analytic(f, x)
numeric(f, x, 1e-3)
jacobian(x)
hessian(x)
