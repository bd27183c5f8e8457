# `.numpy()` far down a chain of calls.
# to_list: tensor ~computes -> no (eager_only)
# report: tensor effects computes -> no (side_effects)
import tensorflow as tf
def to_list(x):
    return x.numpy().tolist()
def report(x):
    print(len(to_list(tf.nn.softmax(x))))
report(tf.ones([3]))
