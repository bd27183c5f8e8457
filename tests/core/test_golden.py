import pytest
from golden import Refresh, golden


def test_equal_text_passes_and_other_text_shows_the_difference(tmp_path, monkeypatch):
    monkeypatch.setattr(Refresh, "wanted", True)
    golden("a/nest", "for i in 4:\n  x", home=tmp_path)
    monkeypatch.setattr(Refresh, "wanted", False)
    golden("a/nest", "for i in 4:\n  x\n", home=tmp_path)
    with pytest.raises(AssertionError, match=r"(?s)-  x.*\+  y"):
        golden("a/nest", "for i in 4:\n  y", home=tmp_path)


def test_a_missing_file_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(Refresh, "wanted", False)
    with pytest.raises(AssertionError, match="update-golden"):
        golden("nothing", "x", home=tmp_path)
