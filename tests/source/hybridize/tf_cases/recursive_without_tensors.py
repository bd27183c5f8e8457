# Recursion of a function that has no tensors.
#
# fib: primitive recursive -> no
# f: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def f(x, n):
    return x * float(fib(n))


f(tf.constant(1.0), 6)
