# A Kalman filter in a class of tensors, updated functionally.
#
# predict: tensor computes -> to_graph
# update: tensor computes -> to_graph
# KalmanFilter.__init__: ~effects ~computes -> ~
# KalmanFilter.step: tensor effects computes -> no (side_effects)
import tensorflow as tf

F = tf.constant([[1.0, 1.0], [0.0, 1.0]])
H = tf.constant([[1.0, 0.0]])


def predict(x, p):
    return F @ x, F @ p @ tf.transpose(F) + 0.01 * tf.eye(2)


def update(x, p, z):
    s = H @ p @ tf.transpose(H) + 0.1
    k = p @ tf.transpose(H) / s
    return x + k * (z - H @ x), (tf.eye(2) - k @ H) @ p


class KalmanFilter:
    def __init__(self):
        self.x = tf.zeros([2, 1])
        self.p = tf.eye(2)

    def step(self, z):
        self.x, self.p = update(*predict(self.x, self.p), z)
        return self.x


kalman = KalmanFilter()
for z in (1.0, 2.0, 3.0):
    kalman.step(tf.constant([[z]]))
