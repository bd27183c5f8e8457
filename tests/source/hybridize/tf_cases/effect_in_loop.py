# In a loop, in a try, in a with.
#
# f: tensor effects computes -> no (side_effects)
import tensorflow as tf

seen = []


def f(x):
    try:
        with tf.name_scope("f"):
            for i in range(2):
                while len(seen) < 3:
                    seen.append(i)
    finally:
        pass
    return x + 1.0


f(tf.constant(1.0))
