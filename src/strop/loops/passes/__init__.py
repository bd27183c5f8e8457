"""Checked transformations of nests and of whole programs."""
