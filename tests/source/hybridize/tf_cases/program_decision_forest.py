# A soft decision tree: recursion over Python nodes.
#
# Node.__init__: ~effects ~primitive ~computes -> ~
# Node.predict: tensor recursive computes -> no (recursive)
# Leaf.predict: tensor computes -> to_graph
# grow: ~primitive ~effects recursive ~computes -> no
# forest: tensor computes -> unsafe
import tensorflow as tf


class Leaf:
    def __init__(self):
        self.value = tf.Variable([1.0, 2.0])

    def predict(self, x):
        return tf.ones([x.shape[0], 1]) * self.value


class Node:
    def __init__(self, left, right):
        self.left, self.right = left, right
        self.w = tf.Variable(tf.ones([2, 1]))

    def predict(self, x):
        p = tf.sigmoid(x @ self.w)
        return p * self.left.predict(x) + (1 - p) * self.right.predict(x)


def grow(depth):
    if depth == 0:
        return Leaf()
    return Node(grow(depth - 1), grow(depth - 1))


trees = [grow(1), grow(2)]


def forest(x):
    return tf.add_n([t.predict(x) for t in trees]) / len(trees)


forest(tf.ones([3, 2]))
