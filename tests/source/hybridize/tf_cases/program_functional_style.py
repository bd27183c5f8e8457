# Functional style: compose, pipe, reduce.
#
# compose: -> no
# compose.composed: tensor computes -> to_graph
# center: tensor computes -> to_graph
# unit: tensor computes -> to_graph
# pipeline_sum: tensor computes -> to_graph
import functools

import tensorflow as tf


def compose(*functions):
    def composed(x):
        for function in functions:
            x = function(x)
        return x

    return composed


def center(x):
    return x - tf.reduce_mean(x)


def unit(x):
    return x / (tf.norm(x) + 1e-6)


def pipeline_sum(tensors):
    return functools.reduce(lambda a, b: a + b, tensors)


normalise = compose(center, unit)
pipeline_sum([normalise(tf.constant([1.0, 2.0, 3.0])), normalise(tf.constant([4.0, 5.0, 9.0]))])
