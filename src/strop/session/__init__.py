"""A compilation with its insides open, and in the hands of whoever looks: see `strop.Session`."""

from strop.session.comparison import Comparison
from strop.session.nests import Nests
from strop.session.preview import Preview
from strop.session.session import Session
from strop.session.space import Possibility

__all__ = ["Comparison", "Nests", "Possibility", "Preview", "Session"]
