# Two models, two tapes.
#
# step: tensor computes -> to_graph
import tensorflow as tf

generator = tf.keras.Sequential([tf.keras.layers.Dense(2, kernel_initializer="ones")])
critic = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])


def step(noise, real):
    with tf.GradientTape() as gen_tape, tf.GradientTape() as critic_tape:
        fake = generator(noise)
        gen_loss = -tf.reduce_mean(critic(fake))
        critic_loss = tf.reduce_mean(critic(fake)) - tf.reduce_mean(critic(real))
    return (
        gen_tape.gradient(gen_loss, generator.trainable_variables),
        critic_tape.gradient(critic_loss, critic.trainable_variables),
    )


step(tf.ones([2, 3]), tf.ones([2, 2]))
