# The object comes out of a function that made it anew.
# make: -> no
# run: tensor computes -> to_graph
# shared: -> no
# change: tensor effects computes -> no (side_effects)
import tensorflow as tf
class Box:
    value = None
BOX = Box()
def make():
    return Box()
def shared():
    return BOX
def run(x):
    box = make()
    box.value = x * 2.0
    return box.value
def change(x):
    box = shared()
    box.value = x * 2.0
    return box.value
run(tf.ones([1]))
change(tf.ones([1]))
