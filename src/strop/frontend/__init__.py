"""Models come in here and leave as operator graphs."""
