"""Coloured words joined are the text, whatever it holds; sources are read around the places that nodes came from."""

from __future__ import annotations

import pytest

from strop.studio.highlight import LEXERS, highlighted, sources

NEST = "nest a(x: f32[4]) -> y: f32[4]:\n  parallel i in 4:\n    y[i] = relu(x[i])\n"
ASSEMBLY = "vmovups\t(%rsi,%rax,4), %zmm0\njb .LBB0_1\n"


def joined(lines):
    return "\n".join("".join(text for _, text in line) for line in lines)


@pytest.mark.parametrize("language", sorted(LEXERS))
@pytest.mark.parametrize("text", [NEST, ASSEMBLY, "", "\n\n", "  ", "<script>&amp;", "é…→\t\x00", "def f(:\n '''"])
def test_no_letter_is_lost(language, text):
    assert joined(highlighted(text, language)) == text


def test_words_have_their_kind():
    words = {text: kind for line in highlighted(NEST, "nest") for kind, text in line}
    assert words["nest"] == "k" and words["parallel"] == "k" and words["f32"] == "b" and words["relu"] == "f"


def test_lines_around_a_place_are_shown_with_their_numbers(tmp_path):
    path = tmp_path / "net.py"
    path.write_text("".join(f"line_{n} = {n}\n" for n in range(1, 41)))
    (found,) = sources([(str(path), 20), (str(path), 22)])
    assert [line["number"] for line in found["lines"]] == list(range(17, 26))
    assert [line["number"] for line in found["lines"] if line["used"]] == [20, 22]
    assert joined([found["lines"][0]["words"]]) == "line_17 = 17"


def test_a_file_that_is_not_there_is_left_out():
    assert sources([("/no/such/file.py", 3), ("", 1), ("<string>", 2)]) == []
