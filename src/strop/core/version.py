"""The version, where every layer can read it (cache keys hold it)."""

__version__ = "0.1.0"
