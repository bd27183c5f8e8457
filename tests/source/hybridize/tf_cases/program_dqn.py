# A DQN: replay buffer in Python, target network, hybrid train step.
#
# ReplayBuffer.__init__: ~effects ~primitive -> ~
# ReplayBuffer.add: ~tensor ~primitive effects -> no
# ReplayBuffer.sample: primitive ~effects computes -> ~
# QNetwork.call: tensor computes -> ~
# compute_targets: tensor computes -> no (callers_hybrid)
# train_step: hybrid tensor computes -> add_signature|keep
# sync: ~effects computes -> no (no_tensor_parameter)
import random
from collections import deque

import numpy as np
import tensorflow as tf

GAMMA = 0.9


class ReplayBuffer:
    def __init__(self, size):
        self.buffer = deque(maxlen=size)

    def add(self, experience):
        self.buffer.append(experience)

    def sample(self, n):
        s, a, r, s2 = zip(*random.sample(self.buffer, n))
        return (
            tf.constant(np.array(s, np.float32)),
            tf.constant(np.array(a, np.int32)),
            tf.constant(np.array(r, np.float32)),
            tf.constant(np.array(s2, np.float32)),
        )


class QNetwork(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.d1 = tf.keras.layers.Dense(8, activation="relu")
        self.d2 = tf.keras.layers.Dense(2)

    def call(self, x):
        return self.d2(self.d1(x))


online, target = QNetwork(), QNetwork()
optimizer = tf.keras.optimizers.SGD(0.01)
online(tf.ones([1, 3]))
target(tf.ones([1, 3]))
optimizer.build(online.trainable_variables)


def compute_targets(rewards, next_states):
    return rewards + GAMMA * tf.reduce_max(target(next_states), axis=1)


@tf.function
def train_step(states, actions, rewards, next_states):
    targets = compute_targets(rewards, next_states)
    with tf.GradientTape() as tape:
        q = tf.reduce_sum(online(states) * tf.one_hot(actions, 2), axis=1)
        loss = tf.reduce_mean(tf.square(targets - q))
    grads = tape.gradient(loss, online.trainable_variables)
    optimizer.apply_gradients(zip(grads, online.trainable_variables))
    return loss


def sync():
    for t, o in zip(target.trainable_variables, online.trainable_variables):
        t.assign(o * 1.0)


buffer = ReplayBuffer(10)
for i in range(6):
    buffer.add((np.ones(3), i % 2, 1.0, np.zeros(3)))
train_step(*buffer.sample(2))
sync()
