"""Rewrites of the operator graph: rules as data, and the order in which they run."""
