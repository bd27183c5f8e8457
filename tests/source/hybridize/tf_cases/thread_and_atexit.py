# Threads and hooks: effects in another way.
#
# work: effects ~tensor ~primitive -> no?
# f: tensor ~effects computes -> unsafe
import threading

import tensorflow as tf

done = []


def work(n):
    done.append(n)


def f(x):
    t = threading.Thread(target=work, args=(1,))
    t.start()
    t.join()
    return x + 1.0


f(tf.constant(1.0))
