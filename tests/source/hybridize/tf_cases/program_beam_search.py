# Beam search: Python control around tensor steps.
#
# Hypothesis.extend: ~tensor ~primitive ~computes -> ~
# step_logits: tensor computes -> to_graph
# top: tensor primitive computes -> no (primitive_parameter)
# beam_search: primitive ~effects computes -> no
from dataclasses import dataclass, field
from typing import List

import tensorflow as tf

table = tf.constant([[0.1, 0.5, 0.4], [0.3, 0.3, 0.4], [0.6, 0.2, 0.2]])


@dataclass
class Hypothesis:
    tokens: List[int] = field(default_factory=list)
    score: float = 0.0

    def extend(self, token, score):
        return Hypothesis(self.tokens + [token], self.score + score)


def step_logits(last):
    return tf.math.log(tf.gather(table, last))


def top(logits, k):
    values, indices = tf.math.top_k(logits, k=k)
    return values, indices


def beam_search(width, steps):
    beams = [Hypothesis([0])]
    for _ in range(steps):
        candidates = []
        for beam in beams:
            values, indices = top(step_logits(tf.constant(beam.tokens[-1])), width)
            for v, i in zip(values.numpy(), indices.numpy()):
                candidates.append(beam.extend(int(i), float(v)))
        beams = sorted(candidates, key=lambda h: h.score, reverse=True)[:width]
    return beams


best = beam_search(2, 2)[0]
print(best.tokens)
