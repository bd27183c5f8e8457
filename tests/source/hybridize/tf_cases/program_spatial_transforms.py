# Geometry with tensors; angles from Python, from tensors, and from both.
#
# rotation: tensor computes -> to_graph
# fixed_rotation: primitive computes -> no
# rotate: tensor computes -> to_graph
# look: tensor computes -> to_graph
import math

import tensorflow as tf


def rotation(theta):
    c, s = tf.cos(theta), tf.sin(theta)
    return tf.stack([tf.stack([c, -s]), tf.stack([s, c])])


def fixed_rotation(degrees):
    t = math.radians(degrees)
    return tf.constant([[math.cos(t), -math.sin(t)], [math.sin(t), math.cos(t)]])


def rotate(points, matrix):
    return tf.einsum("ij,nj->ni", matrix, points)


def look(points, thetas):
    return [rotate(points, rotation(t)) for t in tf.unstack(thetas)]


points = tf.constant([[1.0, 0.0], [0.0, 1.0]])
rotate(points, rotation(tf.constant(0.3)))
rotate(points, fixed_rotation(90.0))
look(points, tf.constant([0.1, 0.2]))
