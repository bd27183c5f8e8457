# State in a dataclass, replaced and never written.
# advance: tensor computes -> to_graph
# push: ~tensor effects computes -> no (side_effects)
import dataclasses
from dataclasses import dataclass, field
import tensorflow as tf
@dataclass(frozen=True)
class State:
    position: tf.Tensor
    velocity: tf.Tensor
@dataclass
class Buffer:
    items: list = field(default_factory=list)
def advance(position, velocity, dt):
    return position + velocity * dt
def push(buffer, state):
    buffer.items.append(state.position + 0.0)
s = State(tf.zeros([2]), tf.ones([2]))
buffer = Buffer()
p = advance(s.position, s.velocity, tf.constant(0.1))
push(buffer, dataclasses.replace(s, position=p))
