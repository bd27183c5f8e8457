"""Everything that is recognised by its shape in the graph, in one set of rules."""

from __future__ import annotations

from strop.graph.passes import accumulate, activations, attention, groups, norms

rules = activations.rules + norms.rules + groups.rules + attention.rules + accumulate.rules
