# A module of utilities, as they lie about in projects.
#
# f1_score: tensor computes -> to_graph
# masked_mean: tensor computes -> to_graph
# log_metrics: ~tensor ~primitive effects -> no
# format_time: primitive -> no
# Averager.__init__: ~effects -> ~
# Averager.update: tensor effects ~computes -> no (side_effects)
# Averager.value: computes -> no
import tensorflow as tf


def f1_score(y_true, y_pred):
    tp = tf.reduce_sum(y_true * y_pred)
    precision = tp / (tf.reduce_sum(y_pred) + 1e-7)
    recall = tp / (tf.reduce_sum(y_true) + 1e-7)
    return 2 * precision * recall / (precision + recall + 1e-7)


def masked_mean(values, mask=None):
    if mask is None:
        return tf.reduce_mean(values)
    mask = tf.cast(mask, values.dtype)
    return tf.reduce_sum(values * mask) / tf.reduce_sum(mask)


def log_metrics(metrics):
    for name, value in metrics.items():
        print(f"{name:>10}: {value:.3f}")


def format_time(seconds):
    minutes, seconds = divmod(seconds, 60)
    return f"{minutes:02d}:{seconds:02d}"


class Averager:
    def __init__(self):
        self.values = []

    def update(self, value):
        self.values.append(value)

    def value(self):
        return tf.reduce_mean(tf.stack(self.values))


y = tf.constant([1.0, 0.0, 1.0])
p = tf.constant([1.0, 1.0, 0.0])
avg = Averager()
for _ in range(3):
    avg.update(f1_score(y, p))
masked_mean(p)
masked_mean(p, y)
log_metrics({"f1": float(avg.value())})
format_time(75)
