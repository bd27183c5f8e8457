"""The studio: a local page that looks into a compilation and steers it, and the same views as one file.

The page only draws. What it shows and what it does are commands (`commands.py`, `steering.py`), each of them a few
calls on a `strop.Session` that a script could make as well. `serve` starts it; `write_report` writes the file.
"""

from strop.studio.report import write_report
from strop.studio.serve import serve

__all__ = ["serve", "write_report"]
