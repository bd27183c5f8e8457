# A thread runs a function that appends.
# work: tensor effects computes -> no (side_effects)
# start: tensor ~effects ~computes -> ~
import threading
import tensorflow as tf
done = []
def work(x):
    done.append(tf.reduce_sum(x))
def start(x):
    t = threading.Thread(target=work, args=(x,))
    t.start()
    t.join()
    return x
start(tf.ones([1]))
