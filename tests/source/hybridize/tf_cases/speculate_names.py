# The patterns of names, none of them called.
#
# distributed_train_step: tensor assumed ~primitive computes -> to_graph
# train_one_step: tensor assumed ~primitive computes -> to_graph
# test_step: tensor assumed ~primitive computes -> to_graph
# my_test_batch_step: tensor assumed ~primitive computes -> to_graph
# run_model: tensor assumed ~primitive computes -> to_graph
# inference: tensor assumed ~primitive computes -> to_graph
# fast_inference: tensor assumed ~primitive computes -> to_graph
import tensorflow as tf


def distributed_train_step(batch):
    return tf.reduce_sum(batch)


def train_one_step(batch):
    return tf.reduce_sum(batch)


def test_step(batch):
    return tf.reduce_sum(batch)


def my_test_batch_step(batch):
    return tf.reduce_sum(batch)


def run_model(batch):
    return tf.reduce_sum(batch)


def inference(batch):
    return tf.reduce_sum(batch)


def fast_inference(batch):
    return tf.reduce_sum(batch)
