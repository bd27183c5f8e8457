"""Rounds of edits in memory, and what TensorFlow edits go where."""

from source.findings import finding, insertion, span
from strop.source.facts import Edit, Scan
from strop.source.fix import fixing
from strop.source.project.files import read
from strop.source.project.settings import Settings
from strop.source.scan_project import scan_project


def test_edits_that_wait_for_others_come_in_a_later_round(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("x = f(g(1))\n")

    def look():
        text = read(str(file)).text
        found = []
        if "f(g(1))" in text:
            found.append(finding(Edit(span(file, text, "f(g(1))"), "h(g(1))")))
        if "g(1)" in text:
            found.append(finding(Edit(span(file, text, "g(1)"), "2"), code="STR151"))
        return Scan(findings=found)

    done = fixing.fix(look, unsafe=False)
    assert file.read_text() == "x = f(g(1))\n"
    done.plan.write()
    assert file.read_text() == "x = h(2)\n" and len(done.applied) == 2 and not done.refused and not done.left.findings


def test_rules_that_undo_each_other_come_to_an_end(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("x = 1\n")

    def look():
        text = read(str(file)).text
        return Scan(findings=[finding(Edit(span(file, text, text[4]), "2" if text[4] == "1" else "1"))])

    assert fixing.fix(look, unsafe=False).files == []


def test_safety_decides_what_is_applied(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("pass\n")
    found = [
        finding(Edit(insertion(file, 1), f"{safety[:1]}{n} = {n}\n"), safety=safety)
        for n, safety in enumerate(["safe", "safe-if", "unsafe"])
    ]
    assert fixing.wanted(Scan(findings=found), unsafe=False) == found[:1]
    assert fixing.wanted(Scan(findings=found), unsafe=True) == found[:2]


def test_only_the_outermost_function_becomes_a_graph(tmp_path):
    (tmp_path / "a.py").write_text(
        "import tensorflow as tf\n\n\ndef inner(x):\n    return tf.sqrt(tf.square(x) * 2.0 + tf.exp(x)) - 1.0\n\n\n"
        "def outer(x):\n    return inner(x) + tf.exp(x)\n\n\nfor _ in range(9):\n    outer(tf.ones([2]))\n"
    )
    done = fixing.fix(lambda: scan_project([str(tmp_path)], Settings()), unsafe=False)
    text = done.plan.after[str(tmp_path / "a.py")]
    assert "@tf.function" in text.partition("def outer")[0] and "@tf.function" not in text.partition("def inner")[0]
    assert text.count("@tf.function") == 1


def test_a_function_with_other_callers_becomes_one_by_itself(tmp_path):
    (tmp_path / "a.py").write_text(
        "import tensorflow as tf\n\n\ndef inner(x):\n    return tf.sqrt(tf.square(x) * 2.0 + tf.exp(x)) - 1.0\n\n\n"
        "def outer(x):\n    return inner(x) + tf.exp(x)\n\n\n"
        "for _ in range(9):\n    outer(tf.ones([2]))\n    inner(tf.ones([3]))\n"
    )
    done = fixing.fix(lambda: scan_project([str(tmp_path)], Settings()), unsafe=False)
    assert done.plan.after[str(tmp_path / "a.py")].count("@tf.function") == 2
