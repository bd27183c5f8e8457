"""Texts are NumPy arrays of objects. No code is generated for what is done here: it is interpreted.

Texts that are only moved and looked up are numbers in compiled code (`standing`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from strop.frontend.onnx.ops import Unsupported, made, onnx

Texts = np.ndarray[Any, Any]


def _each(function: Callable[[str], Any], texts: Texts) -> list[Any]:
    return [function(str(text)) for text in texts.reshape(-1)]


def _texts(items: Sequence[str], shape: Sequence[int]) -> Texts:
    result = np.empty(len(items), dtype=object)
    result[:] = list(items)
    return result.reshape(tuple(shape))


@onnx("StringConcat")
def string_concat(a: Texts, b: Texts) -> Texts:
    first, second = np.broadcast_arrays(a, b)
    joined = [str(x) + str(y) for x, y in zip(first.reshape(-1), second.reshape(-1))]
    return _texts(joined, first.shape)


@onnx("StringSplit")
def string_split(x: Texts, *, delimiter: str = "", maxsplit: int = -1) -> tuple[Texts, Tensor]:
    """Shorter splits are filled up with empty texts."""
    parts = _each(lambda text: text.split(delimiter or None, maxsplit), x)
    width = max(map(len, parts), default=0)
    filled = [part for split in parts for part in (*split, *[""] * (width - len(split)))]
    counts = torch.tensor([len(split) for split in parts], dtype=torch.int64).reshape(x.shape)
    return _texts(filled, (*x.shape, width)), counts


@onnx("RegexFullMatch")
def regex_full_match(x: Texts, *, pattern: str) -> Tensor:
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise Unsupported(f"the pattern {pattern!r}: {error}") from error
    found = _each(lambda text: expression.fullmatch(text) is not None, x)
    return torch.tensor(found, dtype=torch.bool).reshape(x.shape)


@onnx("StringNormalizer")
def string_normalizer(
    x: Texts, *, case_change_action: str = "NONE", is_case_sensitive: int = 0, locale: str = "",
    stopwords: Sequence[str] = (),
) -> Texts:  # fmt: skip
    """Accents go, then stopwords, and the case changes; texts of which nothing is left are dropped."""
    changes: dict[str, Callable[[str], str]] = {"LOWER": str.lower, "UPPER": str.upper, "NONE": lambda text: text}
    change = changes[case_change_action]
    stops = set(stopwords) if is_case_sensitive else {change(word) for word in stopwords}

    def normal(text: str) -> str:
        plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
        if not is_case_sensitive:
            plain = change(plain)
        kept = " ".join(word for word in plain.split(" ") if word not in stops) if stops else plain
        return change(kept)

    if x.ndim == 2 and x.shape[0] != 1:
        raise Unsupported(f"texts of shape {list(x.shape)}")
    kept = [text for text in _each(normal, x) if text] or [""]
    return _texts(kept, (len(kept),) if x.ndim == 1 else (1, len(kept)))


@onnx("TfIdfVectorizer")
def tf_idf_vectorizer(
    x: Any, *, max_gram_length: int, max_skip_count: int, min_gram_length: int, mode: str,
    ngram_counts: Sequence[int], ngram_indexes: Sequence[int], pool_int64s: Sequence[int] = (),
    pool_strings: Sequence[str] = (), weights: Sequence[float] = (),
) -> Tensor:  # fmt: skip
    """How often each n-gram of a pool occurs in a row, its items next to one another or a few apart."""
    if not isinstance(x, Tensor):
        ids = {text: i for i, text in enumerate(dict.fromkeys(pool_strings))}
        codes = [ids.get(str(text), -1) for text in x.reshape(-1)]
        x = torch.tensor(codes, dtype=torch.int64).reshape(x.shape)
        pool_int64s = [ids[text] for text in pool_strings]
    rows = x.reshape(1, -1) if x.dim() < 2 else x
    size = max(ngram_indexes) + 1
    counts = torch.zeros(rows.shape[0], size, dtype=torch.float32)
    ends = [*ngram_counts[1:], len(pool_int64s)]
    first = 0
    for length, (start, end) in enumerate(zip(ngram_counts, ends), 1):
        grams = [list(pool_int64s[i : i + length]) for i in range(start, end - length + 1, length)]
        places = list(ngram_indexes[first : first + len(grams)])
        first += len(grams)
        if grams and min_gram_length <= length <= max_gram_length:
            counts = counts + _occurrences(rows, grams, places, size, 0 if length == 1 else max_skip_count)
    weight = made(torch.tensor, list(weights) or [1.0] * size, dtype=torch.float32)
    if mode == "IDF":
        counts = (counts > 0).to(torch.float32)
    result = counts if mode == "TF" else counts * weight
    return result.reshape(-1) if x.dim() < 2 else result


def _occurrences(rows: Tensor, grams: list[list[int]], places: list[int], size: int, skips: int) -> Tensor:
    wanted = made(torch.tensor, grams, dtype=rows.dtype)
    column = made(torch.tensor, [[float(i == place) for i in range(size)] for place in places])
    total = torch.zeros(rows.shape[0], size, dtype=torch.float32)
    length = len(grams[0])
    for apart in range(1, skips + 2):
        starts = rows.shape[1] - apart * (length - 1)
        if starts <= 0:
            break
        windows = torch.stack([rows[:, apart * i : apart * i + starts] for i in range(length)], -1)
        same = (windows.unsqueeze(2) == wanted).all(-1)
        total = total + same.sum(1).to(torch.float32) @ column
    return total
