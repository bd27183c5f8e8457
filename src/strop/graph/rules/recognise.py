"""Everything that is recognised by its shape in the graph, in one set of rules."""

from __future__ import annotations

from strop.graph.rules import activations, attention, norms

rules = activations.rules + norms.rules + attention.rules
