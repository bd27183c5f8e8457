"""Edits of source files: what a finding changes, which edits meet, and how they are written."""
