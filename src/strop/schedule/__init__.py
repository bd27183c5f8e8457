"""Level 4, the planners: algorithms, layouts, schedules of nests, sliding windows, memory."""
