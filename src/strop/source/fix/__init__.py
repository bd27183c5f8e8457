"""Edits of source files."""
