# A tree that walks itself.
# Tree.__init__: tensor effects -> no?
# Tree.total: recursive ~computes -> no
import tensorflow as tf


class Tree:
    def __init__(self, value, children):
        self.value = value
        self.children = children

    def total(self):
        result = self.value
        for child in self.children:
            result = result + child.total()
        return result


Tree(tf.constant(1.0), [Tree(tf.constant(2.0), [])]).total()
