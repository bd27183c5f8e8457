"""What the parts of the random programs write with: names that hold tensors, fresh names, lines, dice."""

from __future__ import annotations

import random

INPUTS = ("x", "y", "z")


class Words:
    """The lines of a program so far, and the names that hold a tensor of the usual shape."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.module = self.random.random() < 0.35
        self.names = list(INPUTS)
        self.lines: list[str] = []
        self.count = 0
        self.weights = ["self.w", "self.b"] if self.module else ["w"]

    def pick(self) -> str:
        """A tensor; the latest are the likeliest."""
        if self.random.random() < 0.6:
            return self.random.choice(self.names[-3:])
        return self.random.choice(self.names)

    def fresh(self) -> str:
        """A name to be bound: a new one, or (now and then) one that is taken."""
        if self.random.random() < 0.15:
            return self.pick()
        return self.new()

    def new(self, word: str = "t") -> str:
        """A name that nothing has."""
        self.count += 1
        return f"{word}{self.count}"

    def bind(self, name: str) -> str:
        if name in self.names:
            self.names.remove(name)
        self.names.append(name)
        return name

    def set(self, expression: str) -> str:
        name = self.fresh()
        self.lines.append(f"{name} = {expression}")
        return self.bind(name)

    def one_of(self, *choices: str) -> str:
        return self.random.choice(choices)

    def maybe(self, chance: float = 0.5) -> bool:
        return self.random.random() < chance
