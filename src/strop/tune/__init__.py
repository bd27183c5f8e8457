"""Tuning: a search for schedules beyond the default ones, its tasks on many machines, and what it keeps."""
