"""A project's files, modules, declarations, settings and requirements."""
