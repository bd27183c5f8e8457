# PPO: clipped objective, GAE in numpy, minibatches in Python.
#
# gae: ~primitive ~tensor -> no
# log_prob: tensor computes -> to_graph
# clipped_objective: tensor computes -> to_graph
# value_loss: tensor computes -> to_graph
# update: tensor computes -> to_graph
# minibatches: ~primitive ~tensor ~effects -> no?
import numpy as np
import tensorflow as tf

CLIP = 0.2
actor = tf.keras.Sequential([tf.keras.layers.Input((3,)), tf.keras.layers.Dense(2)])
critic = tf.keras.Sequential([tf.keras.layers.Input((3,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01)
variables = actor.trainable_variables + critic.trainable_variables
optimizer.build(variables)


def gae(rewards, values, gamma=0.99, lam=0.95):
    advantages = np.zeros_like(rewards)
    running = 0.0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * values[t + 1] - values[t]
        running = delta + gamma * lam * running
        advantages[t] = running
    return advantages


def log_prob(logits, actions):
    return tf.reduce_sum(tf.nn.log_softmax(logits) * tf.one_hot(actions, logits.shape[-1]), -1)


def clipped_objective(new, old, advantage):
    ratio = tf.exp(new - old)
    return tf.reduce_mean(tf.minimum(ratio * advantage, tf.clip_by_value(ratio, 1 - CLIP, 1 + CLIP) * advantage))


def value_loss(values, returns):
    return tf.reduce_mean(tf.square(returns - tf.squeeze(values, -1)))


def update(obs, actions, old, advantage, returns):
    with tf.GradientTape() as tape:
        objective = clipped_objective(log_prob(actor(obs), actions), old, advantage)
        loss = value_loss(critic(obs), returns) - objective
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


def minibatches(n, size):
    order = np.arange(n)
    for i in range(0, n, size):
        yield order[i : i + size]


obs = np.ones((4, 3), np.float32)
adv = gae(np.ones(4, np.float32), np.zeros(5, np.float32))
for index in minibatches(4, 2):
    update(
        tf.constant(obs[index]),
        tf.constant([0, 1]),
        tf.constant([0.1, 0.2]),
        tf.constant(adv[index]),
        tf.constant([1.0, 1.0]),
    )
