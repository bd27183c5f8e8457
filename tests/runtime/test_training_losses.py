"""Cross-entropies whose logits exist in blocks of rows: gradients are eager's, and what cannot be done has a reason."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from runtime.training import Pair, same
from strop.runtime.step_memory import StepMemory

WORDS, WIDTH = 150, 12
BLOCKS = "blockloss{{value=head.linear rows={rows} gradients={gradients}}}"
HALVES = ("forward", "backward")


class LanguageModel(nn.Module):
    """Tokens in, loss out."""

    def __init__(self, loss: Callable[[Tensor, Tensor], Any], bias: bool = False, tied: bool = False) -> None:
        super().__init__()
        self.loss = loss
        self.embedding, self.inner = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=bias)
        if tied:
            self.head.weight = self.embedding.weight

    def forward(self, tokens: Tensor, labels: Tensor) -> Any:
        return self.loss(self.head(self.inner(self.embedding(tokens)).tanh()), labels)


def mean(logits: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(logits.view(-1, WORDS), labels.view(-1))


def shifted(logits: Tensor, labels: Tensor) -> Tensor:
    return mean(logits[:, :-1].contiguous(), labels[:, 1:].contiguous())


def batch(rows: int = 3) -> tuple[Tensor, Tensor]:
    labels = torch.randint(WORDS, (rows, 7))
    labels[0, 2:4] = -100
    return torch.randint(WORDS, (rows, 7)), labels


def pair_of(model: nn.Module, gradients: str = "forward", rows: int = 8, **options: Any) -> Pair:
    torch.manual_seed(0)
    return Pair(model, partition=BLOCKS.format(rows=rows, gradients=gradients), check=True, **options)


def compare(pair: Pair, run: Callable[[Any], Any]) -> None:
    """Losses and gradients of both; those of the compiled one were computed natively, in blocks."""
    same(*pair.both(run))
    pair.compare()
    assert not pair.reasons and not any("torch's own" in event.message for event in pair.journal.of("fallback"))


def step(tokens: Tensor, labels: Tensor, scale: float = 1.0) -> Callable[[Any], Tensor]:
    def run(model: Any) -> Tensor:
        loss = model(tokens, labels)
        (scale * loss).backward()
        return loss.detach()

    return run


FORMS: dict[str, Callable[[], nn.Module]] = {
    "plain": lambda: LanguageModel(mean),
    "bias": lambda: LanguageModel(mean, bias=True),
    "tied": lambda: LanguageModel(mean, tied=True),
    "shifted": lambda: LanguageModel(shifted, bias=True),
    "sum": lambda: LanguageModel(lambda x, y: F.cross_entropy(x.view(-1, WORDS), y.view(-1), reduction="sum") / 5),
    "ignore another": lambda: LanguageModel(
        lambda x, y: F.cross_entropy(x.view(-1, WORDS), y.clamp(min=3).view(-1), ignore_index=3)
    ),
}


@pytest.mark.parametrize("gradients", HALVES)
@pytest.mark.parametrize("form", FORMS)
def test_gradients_equal_eager(form: str, gradients: str) -> None:
    compare(pair_of(FORMS[form](), gradients), step(*batch()))


class Contrast(nn.Module):
    """Each row is to be like the word of its own number: labels that are known when the step is compiled."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, x: Tensor) -> Tensor:
        return F.cross_entropy(self.head(x), torch.arange(len(x)))


@pytest.mark.parametrize("gradients", HALVES)
def test_labels_that_are_constant(gradients: str) -> None:
    x = torch.randn(21, WIDTH)

    def run(model: Any) -> Tensor:
        loss: Tensor = model(x)
        loss.backward()
        return loss.detach()

    compare(pair_of(Contrast(), gradients), run)


class Projection(nn.Module):
    """A head that multiplies by its weight as it lies."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(WIDTH, WORDS))

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(x @ self.weight, labels)


@pytest.mark.parametrize("gradients", HALVES)
@pytest.mark.parametrize("rows", [1, 20])
def test_blocks_of_a_single_row(rows: int, gradients: str) -> None:
    """21 rows: the last block has one."""
    compare(pair_of(LanguageModel(mean, bias=True), gradients, rows), step(*batch()))


@pytest.mark.parametrize("gradients", HALVES)
def test_a_weight_with_words_as_columns(gradients: str) -> None:
    x, labels = torch.randn(21, WIDTH, requires_grad=True), torch.randint(WORDS, (21,))
    pair = Pair(Projection(), partition=f"blockloss{{value=matmul rows=8 gradients={gradients}}}", check=True)
    compare(pair, lambda model: torch.autograd.grad(model(x, labels), [x], retain_graph=False)[0])


@pytest.mark.parametrize("gradients", HALVES)
def test_a_scaled_loss_accumulates_and_a_retained_graph_is_walked_twice(gradients: str) -> None:
    pair, (tokens, labels) = pair_of(LanguageModel(mean, tied=True), gradients), batch()

    def run(model: Any) -> Tensor:
        loss = model(tokens, labels)
        loss.backward(torch.tensor(65536.0), retain_graph=True)
        model(labels.clamp(min=0), tokens).backward()  # another step in between
        (0.5 * loss + loss).backward()
        return loss.detach()

    compare(pair, run)


@pytest.mark.parametrize("gradients", HALVES)
@pytest.mark.parametrize("frozen", ["head.weight", "all but the head", "all but the embedding"])
def test_only_some_parameters_need_gradients(frozen: str, gradients: str) -> None:
    model = LanguageModel(mean, bias=True)
    for name, parameter in model.named_parameters():
        part = frozen.rpartition(" ")[2]
        parameter.requires_grad_(name != frozen if "all but" not in frozen else name.startswith(part))
    compare(pair_of(model, gradients), step(*batch()))


def test_batches_change_their_size() -> None:
    pair = pair_of(LanguageModel(mean, tied=True))
    for rows in (3, 2, 5):
        compare(pair, step(*batch(rows)))


@pytest.mark.parametrize("gradients", HALVES)
def test_where_every_label_is_ignored_gradients_are_zero(gradients: str) -> None:
    tokens, labels = batch()
    pair = pair_of(LanguageModel(mean), gradients)
    losses = pair.both(step(tokens, torch.full_like(labels, -100)))
    assert all(map(torch.isnan, losses)) and not pair.model.head.weight.grad.any()
    pair.compare()


@pytest.mark.parametrize("label", [WORDS, -1])
def test_a_label_that_is_no_word_raises_as_in_eager(label: int) -> None:
    tokens, labels = batch()
    labels[1, 1] = label
    pair = pair_of(LanguageModel(mean))
    for model in (pair.fast, pair.twin):
        with pytest.raises(IndexError):
            model(tokens, labels)


def test_gradients_are_as_exact_as_eager_beside_float64() -> None:
    torch.manual_seed(0)
    model = LanguageModel(mean, bias=True)
    exact = copy.deepcopy(model).double()
    pair, (tokens, labels) = pair_of(model), batch(9)
    run = step(tokens, labels)
    pair.both(run)
    run(exact)
    for mine, theirs, wanted in zip(model.parameters(), pair.twin.parameters(), exact.parameters()):
        errors = [(one.grad.double() - wanted.grad).abs().max().item() for one in (mine, theirs)]
        assert errors[0] <= 4 * errors[1] + 1e-9


def refused(loss: Callable[[Tensor, Tensor], Any], use: Callable[[Any], Tensor] = lambda result: result) -> str:
    """What is said of a loss that cannot be taken in blocks, whose gradients are eager's all the same."""
    torch.manual_seed(0)
    pair, (tokens, labels) = Pair(LanguageModel(loss)), batch()

    def run(model: Any) -> Tensor:
        result = use(model(tokens, labels))
        result.backward()
        return result.detach()

    compare(pair, run)
    return " ".join(event.message for event in pair.journal.of("refusal") if "blockloss" in event.message)


def rows_of(x: Tensor) -> Tensor:
    return x.view(-1, WORDS)


@pytest.mark.parametrize(
    ("loss", "use", "why"),
    [
        (lambda x, y: (mean(x, y), x), lambda result: result[0], "returned beside the loss"),
        (lambda x, y: mean(x, y) + x.square().mean(), lambda result: result, "reads them, too"),
        (lambda x, y: mean(x.div(0.7).tanh(), y), lambda result: result, "stands between the product and the loss"),
        (lambda x, y: F.cross_entropy(rows_of(x), y.view(-1), torch.ones(WORDS)), lambda result: result, "weights"),
        (lambda x, y: F.cross_entropy(rows_of(x), y.view(-1), reduction="none"), torch.sum, "loss of each row"),
        (lambda x, y: F.cross_entropy(rows_of(x), y.view(-1), label_smoothing=0.1), lambda result: result, "log-soft"),
        (mean, lambda result: result, "the cache holds all logits"),
    ],
    ids=["returned", "read elsewhere", "softcap", "class weights", "each row", "label smoothing", "small"],
)
def test_refusals_have_reasons(loss: Callable[..., Any], use: Callable[..., Tensor], why: str) -> None:
    assert why in refused(loss, use)


class Offset(nn.Module):
    """Logits with one number added to all of them, which is not trained."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(WIDTH, WORDS))
        self.register_buffer("offset", torch.ones(1))

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(torch.addmm(self.offset, x, self.weight), labels)


def test_one_number_for_all_words_is_no_bias() -> None:
    pair = Pair(Offset())
    compare(pair, step(torch.randn(21, WIDTH), torch.randint(WORDS, (21,))))
    assert "is no bias of one number for each word" in " ".join(event.message for event in pair.journal.of("refusal"))


def test_logits_that_only_a_loss_outside_reads_are_told_of() -> None:
    pair = Pair(nn.Linear(4, 8192))
    pair.step(torch.randn(2, 4))
    assert any("a loss outside reads them all" in event.message for event in pair.journal.of("refusal"))


def test_a_pass_by_hand_that_does_not_fit_raises() -> None:
    pair = Pair(LanguageModel(mean), partition="blockloss{value=haed.linear rows=8}")
    with pytest.raises(Exception, match=r"there is head\.linear"):
        pair.fast(*batch())


def test_beside_a_block_of_logits_only_the_gradient_of_the_weight_takes_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """No copy of the weight, and none of its gradient where that of the embedding is added. AVX2's plans differ: from the
    second block on they pack the block's logits as a whole, because a nest that adds to what it reads takes no turns."""
    words, width, rows = 4096, 64, 128

    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.head = nn.Embedding(words, width), nn.Linear(width, words, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, tokens: Tensor) -> Tensor:
            return F.cross_entropy(self.head(self.embedding(tokens).tanh()), tokens + rows)

    sizes: list[int] = []
    reserve = StepMemory.reserve
    monkeypatch.setattr(StepMemory, "reserve", lambda *args: sizes.append(args[1]) or reserve(*args))
    compare(pair_of(Tied(), rows=rows // 2, target="znver5@host"), step_of(torch.arange(rows)))
    logits, weight = 4 * rows // 2 * words, 4 * words * width
    assert len(sizes) == 2 and max(sizes) < 1.1 * (logits + weight)


def step_of(tokens: Tensor) -> Callable[[Any], Tensor]:
    def run(model: Any) -> Tensor:
        loss = model(tokens)
        loss.backward()
        return loss.detach()

    return run
