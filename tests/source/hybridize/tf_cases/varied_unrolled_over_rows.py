# As many rounds as there are rows.
# smoothed: tensor computes -> ~
import tensorflow as tf


def smoothed(x):
    state = tf.zeros_like(x[0])
    found = []
    for t in range(x.shape[0]):
        state = 0.9 * state + 0.1 * x[t]
        found.append(state)
    return tf.stack(found)


for rows in (3, 3, 5):
    print(smoothed(tf.ones([rows, 2])).numpy())
