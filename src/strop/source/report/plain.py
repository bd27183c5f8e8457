"""JSON, as `Scan.to_json` lays it out."""

from __future__ import annotations

import json

from strop.source.facts import Scan


def as_json(scan: Scan) -> str:
    return json.dumps(scan.to_json(), indent=2, ensure_ascii=False) + "\n"
