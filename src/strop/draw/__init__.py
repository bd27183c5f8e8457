"""Drawings of graphs and charts as plain data and SVG: what the studio, its reports and notebooks show has one source.

Nothing here knows the compiler: nodes are names with a path, edges have a weight, charts get rows of numbers.
"""
