"""Gravity between a few hundred bodies, integrated with leapfrog steps."""

import torch

BODIES = 384
SOFTENING = 0.05


def acceleration(pos, mass):
    delta = pos[None, :, :] - pos[:, None, :]
    dist2 = (delta * delta).sum(dim=-1) + SOFTENING**2
    inv = dist2.rsqrt()
    inv3 = inv * inv * inv
    return (delta * (mass[None, :] * inv3)[:, :, None]).sum(dim=1)


def energy(pos, vel, mass):
    kinetic = 0.5 * (mass[:, None] * vel * vel).sum()
    delta = pos[None, :, :] - pos[:, None, :]
    dist = torch.sqrt((delta * delta).sum(dim=-1) + SOFTENING**2)
    return kinetic - 0.5 * (mass[None, :] * mass[:, None] / dist).sum()


def leapfrog(pos, vel, mass, dt):
    vel = vel + 0.5 * dt * acceleration(pos, mass)
    pos = pos + dt * vel
    vel = vel + 0.5 * dt * acceleration(pos, mass)
    return pos, vel


def main(steps=20):
    torch.manual_seed(1)
    pos = torch.randn(BODIES, 3)
    vel = 0.1 * torch.randn(BODIES, 3)
    mass = torch.rand(BODIES) / BODIES
    dt = torch.tensor(0.01)
    history = []
    for _ in range(steps):
        pos, vel = leapfrog(pos, vel, mass, dt)
        history.append(energy(pos, vel, mass))
    return pos, torch.stack(history)


if __name__ == "__main__":
    print(main()[1])
