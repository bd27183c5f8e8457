# Saving and restoring around a step.
#
# step: tensor computes -> to_graph
# save: ~effects ~tensor -> no
# restore_or_init: ~effects ~tensor ~primitive -> no
# loop: ~primitive effects computes -> no
import os

import tensorflow as tf

w = tf.Variable(1.0)
checkpoint = tf.train.Checkpoint(w=w)


def step(x):
    w.assign_add(0.1 * tf.reduce_sum(x))
    return w * 1.0


def save():
    return checkpoint.save(os.path.join("ckpt", "w"))


def restore_or_init(folder):
    latest = tf.train.latest_checkpoint(folder)
    if latest:
        checkpoint.restore(latest)
    return latest is not None


def loop(n):
    for i in range(n):
        step(tf.ones([2]))
    print("done", n)


restore_or_init("ckpt")
loop(2)
save()
