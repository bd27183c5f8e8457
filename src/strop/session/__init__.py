"""A compilation with its insides open, and in the hands of whoever looks: see `strop.Session`."""

from strop.session.session import Nests, Session
from strop.session.space import Possibility, Preview

__all__ = ["Nests", "Possibility", "Preview", "Session"]
