"""The compiler from a graph to an artefact: the pipeline, the artefact, its cache key."""
