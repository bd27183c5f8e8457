"""The whole-program abstract interpreter."""
