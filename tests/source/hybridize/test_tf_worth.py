"""Functions that could become graphs: proposed where a script's loop runs them, left to their callers in a library."""

from __future__ import annotations

from pathlib import Path

from strop.source.scan import scan

LIBRARY = """import tensorflow as tf

def _smooth(image: tf.Tensor):
    left, right = tf.roll(image, 1, 0), tf.roll(image, -1, 0)
    return tf.sqrt(tf.square(left) + tf.square(right)) + tf.tanh(image) * tf.exp(-image)


def pyramid(levels):
    found = []
    for level in levels:
        found.append(_smooth(level))
    return found


def both(levels, others):
    return pyramid(levels), pyramid(others)
"""
SCRIPT = "\n\nimages = [tf.ones([8, 8]) for _ in range(100)]\nboth(images, images)\n"


def _proposed(folder: Path, text: str) -> list[str]:
    (folder / "program.py").write_text(text, encoding="utf-8")
    return [finding.function for finding in scan([str(folder)]).findings if finding.code == "STR147"]


def test_a_part_of_a_library_is_left_to_whoever_calls_it(tmp_path: Path) -> None:
    assert not _proposed(tmp_path, LIBRARY)


def test_what_a_script_runs_in_a_loop_is_proposed(tmp_path: Path) -> None:
    assert _proposed(tmp_path, LIBRARY + SCRIPT) == ["_smooth"]
