"""Strop beside its peers, on single operators and on the networks of the zoo."""
