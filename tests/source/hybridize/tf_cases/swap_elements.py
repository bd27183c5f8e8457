# Elements of a list that came in as an argument.
# swap: tensor effects -> no (side_effects)
# rotated: tensor -> no
import tensorflow as tf
def swap(xs):
    xs[0], xs[1] = xs[1], xs[0]
def rotated(xs):
    a, *rest = xs
    return [*rest, a]
xs = [tf.ones([1]), tf.zeros([1])]
swap(xs)
rotated(xs)
