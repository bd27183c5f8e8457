# A method of the same name as the function that it calls.
# scale: tensor computes -> to_graph
# Box.scale: tensor computes -> to_graph
import tensorflow as tf
def scale(x):
    return x * 3.0
class Box:
    def scale(self, x):
        return scale(x) + 1.0
box = Box()
box.scale(tf.ones([1]))
scale(tf.ones([1]))
