# State in an instance that the function itself made, through two methods.
# run: tensor computes -> to_graph
# run.Acc.__init__: ~effects ~computes -> ~
# run.Acc.add: tensor effects computes -> no (side_effects)
import tensorflow as tf
def run(xs):
    class Acc:
        def __init__(self):
            self.total = tf.zeros([1])
        def add(self, x):
            self.total = self.total + x
    acc = Acc()
    for x in xs:
        acc.add(x)
    return acc.total
run([tf.ones([1])])
