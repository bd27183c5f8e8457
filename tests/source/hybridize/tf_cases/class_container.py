# Tensors inside a list inside an object's attribute.
# Stack.__init__: ~effects -> ~
# Stack.push: tensor effects -> no (side_effects)
# Stack.total: computes -> no (no_tensor_parameter)
# add: tensor computes -> to_graph
import tensorflow as tf
class Stack:
    def __init__(self):
        self.items = []
    def push(self, x):
        self.items.append(x)
    def total(self):
        out = self.items[0]
        for item in self.items[1:]:
            out = add(out, item)
        return out
def add(a, b):
    return a + b
s = Stack()
s.push(tf.ones([1]))
s.push(tf.zeros([1]))
s.total()
