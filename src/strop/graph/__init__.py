"""Level 1: the operator graph, its operator set, type inference, verifier, analyses and passes."""
