"""The static cost model: cycles of a scheduled nest on a target, without running anything."""
