# An N-body simulation with tensors; no Keras at all.
#
# pairwise: tensor computes -> to_graph
# acceleration: tensor computes -> to_graph
# leapfrog: tensor computes -> to_graph
# energy: tensor computes -> to_graph
# simulate: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf

G = 1.0
DT = 0.01


def pairwise(positions):
    return positions[None, :, :] - positions[:, None, :]


def acceleration(positions, masses):
    delta = pairwise(positions)
    distance2 = tf.reduce_sum(delta**2, axis=-1) + 1e-3
    return G * tf.reduce_sum(delta * (masses / distance2**1.5)[..., None], axis=1)


def leapfrog(positions, velocities, masses):
    velocities = velocities + 0.5 * DT * acceleration(positions, masses)
    positions = positions + DT * velocities
    velocities = velocities + 0.5 * DT * acceleration(positions, masses)
    return positions, velocities


def energy(velocities, masses):
    return 0.5 * tf.reduce_sum(masses * tf.reduce_sum(velocities**2, axis=-1))


def simulate(positions, velocities, masses, steps):
    energies = []
    for _ in range(steps):
        positions, velocities = leapfrog(positions, velocities, masses)
        energies.append(energy(velocities, masses))
    return positions, tf.stack(energies)


p = tf.constant([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
simulate(p, tf.zeros_like(p), tf.constant([1.0, 2.0, 3.0]), 3)
