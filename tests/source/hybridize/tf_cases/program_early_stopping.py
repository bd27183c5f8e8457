# Early stopping in plain Python around a graph-worthy step.
#
# EarlyStopping.__init__: ~effects ~primitive -> ~
# EarlyStopping.should_stop: effects ~primitive ~tensor ~computes -> no
# validation_loss: tensor computes -> to_graph
# fit: ~tensor primitive effects computes -> no
import tensorflow as tf

w = tf.Variable(0.0)


class EarlyStopping:
    def __init__(self, patience=2):
        self.patience = patience
        self.best = None
        self.bad = 0

    def should_stop(self, value):
        if self.best is None or value < self.best:
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        return self.bad >= self.patience


def validation_loss(x, y):
    return tf.reduce_mean(tf.square(w * x - y))


def fit(max_epochs):
    stopper = EarlyStopping()
    for epoch in range(max_epochs):
        w.assign_add(0.1)
        loss = float(validation_loss(tf.ones([2]), tf.ones([2])))
        if stopper.should_stop(loss):
            break
        print(epoch, round(loss, 3))


fit(3)
