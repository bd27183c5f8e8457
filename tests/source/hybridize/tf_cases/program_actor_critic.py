# Actor-critic; the step function of the environment is wrapped with tf.numpy_function.
#
# ActorCritic.call: tensor computes -> to_graph
# env_step: ~tensor ~primitive ~effects -> no?
# tf_env_step: tensor ~effects computes -> ~
# get_expected_return: tensor computes -> ~
# compute_loss: tensor computes -> to_graph
import numpy as np
import tensorflow as tf

huber = tf.keras.losses.Huber(reduction="sum")


class ActorCritic(tf.keras.Model):
    def __init__(self, actions, hidden):
        super().__init__()
        self.common = tf.keras.layers.Dense(hidden, activation="relu")
        self.actor = tf.keras.layers.Dense(actions)
        self.critic = tf.keras.layers.Dense(1)

    def call(self, inputs):
        x = self.common(inputs)
        return self.actor(x), self.critic(x)


def env_step(action):
    return np.ones(2, np.float32) * action, np.array(1.0, np.float32)


def tf_env_step(action):
    return tf.numpy_function(env_step, [action], [tf.float32, tf.float32])


def get_expected_return(rewards, gamma=0.99):
    n = tf.shape(rewards)[0]
    returns = tf.TensorArray(dtype=tf.float32, size=n)
    running = tf.constant(0.0)
    for i in tf.range(n):
        running = rewards[n - 1 - i] + gamma * running
        running.set_shape([])
        returns = returns.write(n - 1 - i, running)
    return returns.stack()


def compute_loss(action_probs, values, returns):
    advantage = returns - values
    actor_loss = -tf.math.reduce_sum(tf.math.log(action_probs) * advantage)
    return actor_loss + huber(values, returns)


model = ActorCritic(2, 4)
state = tf.constant([0.0, 0.0])
rewards, values, probs = [], [], []
for t in range(3):
    logits, value = model(tf.expand_dims(state, 0))
    action = tf.argmax(logits[0])
    state, reward = tf_env_step(tf.cast(action, tf.float32))
    rewards.append(reward)
    values.append(value[0, 0])
    probs.append(tf.nn.softmax(logits)[0, action])
compute_loss(tf.stack(probs), tf.stack(values), get_expected_return(tf.stack(rewards)))
