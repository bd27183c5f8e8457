# Names that are like these but are not.
#
# train: tensor? ~primitive ~computes -> no?
# step: tensor? ~primitive ~computes -> no?
# run_models: tensor? ~primitive ~computes -> no?
# inference_mode: tensor? ~primitive ~computes -> no?
# call: tensor? ~primitive ~computes -> no?
import tensorflow as tf


def train(x):
    return tf.reduce_sum(x)


def step(x):
    return tf.reduce_sum(x)


def run_models(x):
    return tf.reduce_sum(x)


def inference_mode(x):
    return tf.reduce_sum(x)


def call(x):
    return tf.reduce_sum(x)
