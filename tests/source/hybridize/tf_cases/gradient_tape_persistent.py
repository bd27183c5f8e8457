# Second derivatives.
# f: tensor computes -> to_graph
# hessian: tensor computes -> to_graph
import tensorflow as tf
def f(x):
    return x**3
def hessian(x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        g = inner.gradient(y, x)
    return outer.gradient(g, x)
hessian(tf.constant(2.0))
