# REINFORCE: an environment in Python, a policy in Keras, returns computed by hand.
#
# Environment.__init__: ~effects -> ~
# Environment.reset: effects -> no
# Environment.step: effects ~primitive ~tensor ~computes -> no
# discounted: ~tensor ~primitive -> no
# policy_loss: tensor computes -> to_graph
# run_episode: ~primitive effects computes -> no
import numpy as np
import tensorflow as tf


class Environment:
    def __init__(self):
        self.state = np.zeros(2, np.float32)
        self.t = 0

    def reset(self):
        self.state = np.zeros(2, np.float32)
        self.t = 0
        return self.state

    def step(self, action):
        self.t += 1
        self.state = self.state + (0.1 if action == 1 else -0.1)
        return self.state, float(-abs(self.state[0])), self.t >= 3


policy = tf.keras.Sequential([tf.keras.layers.Input((2,)), tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.SGD(0.1)


def discounted(rewards, gamma=0.99):
    out, running = [], 0.0
    for r in reversed(rewards):
        running = r + gamma * running
        out.insert(0, running)
    return out


def policy_loss(states, actions, returns):
    logits = policy(states)
    picked = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=actions, logits=logits)
    return tf.reduce_mean(picked * returns)


def run_episode(env):
    states, actions, rewards = [], [], []
    state, done = env.reset(), False
    while not done:
        logits = policy(state[None])
        action = int(tf.argmax(logits[0]).numpy())
        states.append(state)
        actions.append(action)
        state, reward, done = env.step(action)
        rewards.append(reward)
    with tf.GradientTape() as tape:
        loss = policy_loss(
            tf.convert_to_tensor(np.stack(states)), tf.constant(actions), tf.constant(discounted(rewards))
        )
    optimizer.apply_gradients(zip(tape.gradient(loss, policy.trainable_variables), policy.trainable_variables))
    return float(loss)


env = Environment()
for _ in range(2):
    run_episode(env)
