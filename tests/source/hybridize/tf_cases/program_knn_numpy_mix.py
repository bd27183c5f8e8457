# TensorFlow and numpy side by side; some of it cannot become a graph.
#
# distances: tensor computes -> to_graph
# classify: tensor primitive computes -> no
# to_numpy: tensor ~computes -> no (eager_only)
# accuracy_np: tensor -> no
import numpy as np
import tensorflow as tf


def distances(queries, points):
    return tf.norm(queries[:, None] - points[None], axis=-1)


def to_numpy(t):
    return t.numpy()


def classify(queries, points, labels, k):
    nearest = to_numpy(tf.math.top_k(-distances(queries, points), k=k).indices)
    votes = np.asarray(labels)[nearest]
    return np.array([np.bincount(v).argmax() for v in votes])


def accuracy_np(a, b):
    return float(np.mean(a == b))


points = tf.constant([[0.0, 0.0], [1.0, 1.0], [0.9, 1.1]])
labels = np.array([0, 1, 1])
predicted = classify(tf.constant([[1.0, 1.0]]), points, labels, 2)
accuracy_np(predicted, np.array([1]))
