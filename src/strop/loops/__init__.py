"""Levels 2 and 3: the nest IR, index arithmetic, layouts, lowerings and the passes on nests."""
