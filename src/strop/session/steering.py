"""A compiled graph in a person's hands: passes by hand, previews, undo and redo, branches, measurements and checks.

Every program that passes by hand have made is kept for a while, with its code, so that going back to one takes no
planning and no compiling.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from strop.core.journal import Journal
from strop.core.passes import LEVELS, Level, Pass, Verdict, no, yes
from strop.core.problem import Problem
from strop.core.process_memory import physical_bytes
from strop.driver import pipeline
from strop.driver.artifact import Artifact
from strop.driver.pipeline import Stages
from strop.graph.ir import Graph
from strop.loops.calls import Call
from strop.loops.passes.fusion import Steps
from strop.runtime.hot_swap import HotSwapProgram
from strop.runtime.numeric_check import NumericCheck
from strop.runtime.profile import Profile
from strop.runtime.program import NativeProgram
from strop.schedule.constraints import KeepApart, Pin
from strop.schedule.lowering import ChooseAlgorithm
from strop.schedule.planners import Hooks
from strop.session.comparison import ComparedSide, Comparison, diffs
from strop.session.edits import Change, EditLine, Edits, flat, parsed, text_of
from strop.session.inspection import Insides, Inspection
from strop.session.operations import OperationJournal, Operations
from strop.session.preview import Moved, Preview, Prices
from strop.session.saved import SavedProgram
from strop.session.space import Possibility, fusions, possibilities, schedules
from strop.session.traffic import Transfers
from strop.session.views import EventKind, FusionEffect, HistoryStep, NestDiff, SessionBranch, SessionEvent, WhyNot

MAIN = "main"  # the branch that a session starts with
_KEPT = 12  # programs that are kept with their code


@dataclass
class ProgramState:
    """A program that passes by hand have made: its stages (None where nobody has looked at them yet), its code, and
    what was found out about it."""

    program: NativeProgram
    stages: Stages | None
    insides: Insides | None = None
    heard: Journal | None = None  # what was written down when its stages were made for somebody who only asked
    profile: Profile | None = None
    check: NumericCheck | None = None


class Steering(Inspection):
    """One graph's program that can be exchanged while it is in use. Who derives from it makes the first one (`_begin`),
    and says how code becomes a program that runs (`_loaded`)."""

    _swap: HotSwapProgram | None = None
    _state: ProgramState
    _captured: Graph

    def _prepare(self) -> None:
        self.hooks = Hooks()
        self.operations = Operations()
        self._lines: dict[str, EditLine] = {MAIN: EditLine()}
        self._branch = MAIN
        self._states: OrderedDict[Edits, ProgramState] = OrderedDict()
        self._moved: dict[Edits, Moved] = {}

    def _begin(self, swap: HotSwapProgram, stages: Stages | None) -> None:
        self._swap = swap
        self._state = self._states[()] = ProgramState(swap.current, stages)

    def _made_again(self, journal: Journal) -> Stages:
        """The stages of the program before any pass by hand, made again up to code generation."""
        raise NotImplementedError

    def _loaded(self, compiled: Artifact) -> NativeProgram:
        raise NotImplementedError

    # ---- what there is ----

    @property
    def program(self) -> NativeProgram:
        """The program that runs, bound to the module's parameters."""
        if self._swap is None:
            raise Problem("STR108", "the model computes nothing: its outputs are its inputs, or views of them")
        return self._swap.current

    @property
    def compiled(self) -> Artifact:
        return self.program.compiled

    @property
    def stages(self) -> Stages:
        """Everything on the way. A program that came from the cache goes that way again, up to code generation."""
        state = self._seen()
        if state.heard is not None:
            with self.journal.step("look inside", why="the program came from the cache"):
                self.journal.take(state.heard.events)
            state.heard = None
        assert state.stages is not None
        return state.stages

    def _seen(self) -> ProgramState:
        """The program as it is, with its stages; nothing is written down before somebody looks at them."""
        self.program  # noqa: B018 - a model that computes nothing says so
        state = self._state
        if state.stages is None:
            heard = Journal()
            state.stages, state.heard = self._made_again(heard), heard
        return state

    @property
    def _unedited(self) -> Stages:
        self.program  # noqa: B018 - a model that computes nothing says so
        state = self._states[()]
        if state.stages is None:
            heard = Journal()
            state.stages, state.heard = self._made_again(heard), heard
        return state.stages

    @property
    def _insides(self) -> Insides:
        stages = self.stages
        if self._state.insides is None:
            self._state.insides = Insides(stages, self.edits, self.target, self._prices, self._transfers)
        return self._state.insides

    @cached_property
    def _prices(self) -> Prices:
        return Prices(self.target, self.compiled.threads)

    @cached_property
    def _transfers(self) -> Transfers:
        return Transfers(self.target)

    @property
    def measured(self) -> Profile | None:
        """What `measure` has found of this program."""
        return self._state.profile

    @property
    def edits(self) -> tuple[Pass, ...]:
        """What was applied by hand, in order."""
        return flat(self._lines[self._branch].edits)

    @property
    def applied(self) -> Edits:
        """The same, as each call of `apply` was given it."""
        return self._lines[self._branch].edits

    # ---- before anything is changed ----

    def why(self, *passes: Pass | str) -> Verdict:
        """Whether `apply` would take these, and if not, why not. Nothing is changed or recorded."""
        try:
            self._replanned((*self.edits, *parsed(passes)), Journal(keep=False))
        except Problem as problem:
            return no(problem.message, problem.where or "")
        return yes()

    def preview(self, *passes: Pass | str) -> Preview:
        """What `apply` would change: bytes, cycles and nests before and after, with the text of the nests that change,
        and the copies between layouts. No code is made, nothing is recorded."""
        new, edits, now = parsed(passes), self.edits, self._seen().stages
        assert now is not None
        made, _ = self.operations.run("preview", lambda told: self._replanned((*edits, *new), told), keep=False)
        return self._prices.preview(now.program, made.program, new)

    def why_not(self, a: str, b: str) -> WhyNot:
        """Why two neighbours (nodes, nests, or steps of the plan) are not one nest, what that would need, and the pass
        that would make one of them where there is one, with what it would bring. Also says where they are one."""
        found = super().why_not(a, b)
        return replace(found, price=partial(self._effect, found.enabled_by)) if found.enabled_by else found

    def _effect(self, passes: tuple[Pass, ...]) -> FusionEffect:
        known = self._insides.effects
        if passes not in known:
            known[passes] = self._predicted_effect(passes)
        return known[passes]

    def _predicted_effect(self, passes: tuple[Pass, ...]) -> FusionEffect:
        before = self._prices.program(self.stages.program)
        taken = self._prices.microseconds(before)
        try:
            made = self._replanned((*self.edits, *passes), Journal(keep=False))
        except Problem as problem:
            return FusionEffect(before.bytes, before.bytes, taken, taken, problem.message)
        after = self._prices.program(made.program)
        return FusionEffect(before.bytes, after.bytes, taken, self._prices.microseconds(after))

    def _replanned(self, edits: Sequence[Pass], journal: Journal) -> Stages:
        return pipeline.replanned(self._unedited, journal, edits, self.hooks)

    def space(self, at: str = "", *, levels: Sequence[Level] = LEVELS) -> list[Possibility]:
        """What can be applied, and what can't and why. With the name of a node, a nest or a tensor only what concerns
        that; without one, nests that are alike are looked at once. What each would change is predicted when its
        `preview` is looked at, for the session as it is now."""
        now, edits = self._seen().stages, self.edits
        assert now is not None
        unedited = self._unedited

        def price(new: tuple[Pass, ...]) -> Preview:
            made = pipeline.replanned(unedited, Journal(keep=False), (*edits, *new), self.hooks)
            return self._prices.preview(now.program, made.program, new)

        found = [replace(one, price=partial(price, one.passes)) for one in possibilities(now.programs, levels, at)]
        if "loops" in levels:
            found += schedules(now.programs["schedule"], now.program, self._prices, at)
        return found

    # ---- passes by hand ----

    def apply(self, *passes: Pass | str) -> None:
        """Transform the program and exchange it under `module`; a refusal is raised and leaves everything as it was.

        Text may hold several passes. Each comes after those that the planner of its level has chosen; those on a nest
        take their place after `reset{nest=…}`. All are applied together: only the whole has to be a schedule. What
        was undone can't be redone after that.
        """
        new = parsed(passes)

        def added(line: EditLine) -> Change:
            return EditLine((*line.edits, new) if new else line.edits), partial(text_of, new)

        self._steer("applied", added)

    def replace(self, index: int, *passes: Pass | str) -> None:
        """Put other passes in the place of what one call of `apply` was given (`applied[index]`), and apply those after
        it again; without any, it is taken out."""
        new = parsed(passes)

        def replaced(line: EditLine) -> Change:
            edits = line.edits
            if not -len(edits) <= index < len(edits):
                raise Problem("STR001", f"{len(edits)} edits were applied, there is no {index}", help="session.applied")
            at = index % len(edits)
            changed = EditLine((*edits[:at], *((new,) if new else ()), *edits[at + 1 :]))
            return changed, lambda: f"{text_of(new) or 'nothing'} in place of {text_of(edits[at])}"

        self._steer("applied", replaced)

    def undo(self) -> None:
        """Take back what `apply` was given last."""

        def shortened(line: EditLine) -> Change:
            if not line.edits:
                raise Problem("STR001", "nothing was applied that could be undone")
            return EditLine(line.edits[:-1], (*line.undone, line.edits[-1])), partial(text_of, line.edits[-1])

        self._steer("undone", shortened)

    def redo(self) -> None:
        """Apply again what was undone last."""

        def lengthened(line: EditLine) -> Change:
            if not line.undone:
                raise Problem("STR001", "nothing was undone that could be done again")
            return EditLine((*line.edits, line.undone[-1]), line.undone[:-1]), partial(text_of, line.undone[-1])

        self._steer("redone", lengthened)

    def keep_apart(self, a: str, b: str) -> None:
        """Never fuse these two nests."""
        self.apply(KeepApart(a, b))

    def pin(self, tensor: str, layout: str) -> None:
        """Let a tensor lie `channels_last` or `blocked`, whatever that costs: `preview(Pin(tensor, layout))` tells."""
        self.apply(Pin(tensor, layout))

    def algorithm(self, node: str, use: str) -> None:
        """Compute a node by an algorithm, with its best numbers, or `direct`."""
        self.apply(ChooseAlgorithm(node, use))

    def fuse(self, a: str, b: str) -> None:
        """Make one nest of two that the planner has left apart, by whichever kind of fusion is legal."""
        stages = self._seen().stages
        assert stages is not None
        steps = Steps(stages.programs["fuse"].then(*(one for one in self.edits if one.level == "nests")).nests)
        verdicts = [(one, one.can(steps)) for one in (*fusions(a, b), *fusions(b, a))]
        legal = next((one for one, verdict in verdicts if verdict), None)
        if legal is None:
            raise Problem("STR301", f"`{a}` and `{b}` cannot be fused: {verdicts[0][1].why}",
                          help="session.why_not(a, b) says what it would need")  # fmt: skip
        self.apply(legal)

    def _steer(self, kind: EventKind, change: Callable[[EditLine], Change]) -> None:
        """Have the current branch become what `change` makes of it and tells of that; one operation at a time."""
        with self.operations.alone():
            line, told = change(self._lines[self._branch])
            state, heard = self._state_of(line.edits, kind)
            self._put_in_place(line.edits, state)
            if heard is not None:
                self.journal.take(heard.events)
            self._lines[self._branch] = line
            self.operations.tell(kind, self._branch, told(), digest=self.digest)

    def _state_of(self, edits: Edits, kind: str) -> tuple[ProgramState, Journal | None]:
        """The program after these passes by hand, and what making it has written down; one that is kept is not made."""
        try:
            known = self._states.get(edits) if not self.hooks else None
        except TypeError:  # a pass of another package that holds anything: planning says what is wrong with it
            known = None
        if known is not None:
            self._states.move_to_end(edits)
            return known, None
        unedited = self._unedited
        made, heard = self.operations.run(kind, partial(self._built, unedited, self._states[()].program, edits))
        return made, heard

    def _built(self, unedited: Stages, first: NativeProgram, edits: Edits, journal: OperationJournal) -> ProgramState:
        stages = pipeline.replanned(unedited, journal, flat(edits), self.hooks)
        known = pipeline.functions_of(unedited, first.compiled, self.target)
        compiled = pipeline.generate(stages, self.target, journal, known=known)
        _require_memory(compiled)
        return ProgramState(self._loaded(compiled), stages)

    def _put_in_place(self, edits: Edits, state: ProgramState) -> None:
        assert self._swap is not None
        if self._swap.current is not state.program:
            self._swap.exchange(state.program)
        self._state = self._states[edits] = state
        while len(self._states) > _KEPT:
            oldest = next(one for one in self._states if one and one != edits)
            del self._states[oldest]

    # ---- branches ----

    @property
    def branches(self) -> tuple[SessionBranch, ...]:
        """All branches, in the order in which they began."""
        return tuple(
            SessionBranch(name, line.edits, len(line.undone), name == self._branch)
            for name, line in self._lines.items()
        )

    def branch(self, name: str) -> None:
        """Begin another line of edits here, and go on in it. `switch` goes back to one."""
        if not isinstance(name, str) or not name.strip() or name in self._lines:
            why = "there is one already" if name in self._lines else "a name has letters"
            raise Problem("STR001", f"no branch can be called `{name!s:.40}`: {why}")
        with self.operations.alone():
            self._lines[name] = EditLine(self.applied)
            self._branch = name
            self.operations.tell("branched", name)

    def switch(self, name: str) -> None:
        """Go on in another branch: its program is exchanged under `module`."""
        line = self._line(name)
        with self.operations.alone():
            state, heard = self._state_of(line.edits, "switched")
            self._put_in_place(line.edits, state)
            if heard is not None:
                self.journal.take(heard.events)
            self._branch = name
            self.operations.tell("switched", name)

    def _saved_program(self) -> SavedProgram:
        branches = {one.name: [text_of(passes) for passes in one.edits] for one in self.branches}
        return SavedProgram(self._captured.key, branches, self._branch)

    def _restore(self, branches: Mapping[str, Edits], current: str) -> None:
        """Have these branches, and be in one of them; the others are planned when they are switched to."""
        lines = {name: EditLine(edits) for name, edits in branches.items()}
        state, _ = self._state_of(lines[current].edits, "applied")
        self._put_in_place(lines[current].edits, state)
        self._lines, self._branch = lines, current

    def _line(self, name: str) -> EditLine:
        if name not in self._lines:
            raise Problem("STR001", f"there is no branch `{name!s:.40}`", help=f"there are: {', '.join(self._lines)}")
        return self._lines[name]

    def compare(self, a: str, b: str) -> Comparison:
        """Two branches side by side, in bytes, predicted and measured microseconds, nests and machine code. A branch
        that is not in place is compiled for that; nothing is exchanged."""
        with self.operations.alone():
            (side_a, calls_a), (side_b, calls_b) = self._side(a), self._side(b)
        return Comparison(side_a, side_b, diffs(calls_a, calls_b), calls_a, calls_b, self.target)

    def _side(self, name: str) -> tuple[ComparedSide, dict[str, Call]]:
        edits = self._line(name).edits
        state, _ = self._state_of(edits, "compare")
        self._states[edits] = state
        stages, compiled = state.stages or self._unedited, state.program.compiled
        moved = self._prices.program(stages.program)
        side = ComparedSide(
            name,
            flat(edits),
            moved.bytes,
            self._prices.microseconds(moved),
            state.profile.whole if state.profile is not None else None,
            compiled.arena_bytes,
            pipeline.code_digest(compiled),
        )
        return side, {step.name: step for step in stages.plan.steps if isinstance(step, Call)}

    # ---- measured and checked ----

    def measure(self, rounds: int = 30) -> Profile:
        """Time every nest alone, in order, in `rounds` real runs, and keep that for the program as it is:
        `predicted_vs_measured`, `timeline` and `compare` show it. The module's buffers are left as they are."""
        with self.operations.operation("measure") as journal:
            state = self._seen()
            state.profile = self._profiled(rounds, journal)
            whole = state.profile.whole
            self.operations.tell("measured", self._branch, f"{whole:.0f} µs", whole_us=whole)
            return state.profile

    def _profiled(self, rounds: int, journal: OperationJournal) -> Profile:
        raise NotImplementedError

    def _checked(self, found: NumericCheck) -> None:
        """Keep what a check has found for the program as it is."""
        self._state.check = found

    def _separate(self, journal: OperationJournal) -> Artifact:
        """The program as it is with every nest as a step of its own, to be timed alone."""
        known = pipeline.functions_of(self.stages, self.compiled, self.target)
        return pipeline.generate(self.stages, self.target, journal, separate=True, known=known)

    def timeline(self) -> tuple[HistoryStep, ...]:
        """What each call of `apply` brought: bytes and predicted time after it, and what was measured and checked."""
        found = []
        for count in range(len(self.applied) + 1):
            edits = self.applied[:count]
            state = self._states.get(edits)
            moved = self._moved_by(edits)
            passes = edits[-1] if edits else ()
            measured = state.profile.whole if state is not None and state.profile is not None else None
            check = state.check if state is not None else None
            found.append(HistoryStep(count, passes, moved.bytes, self._prices.microseconds(moved), measured, check))
        return tuple(found)

    def step_diff(self, index: int) -> tuple[NestDiff, ...]:
        """The nests that are not alike before and after what one call of `apply` was given (`applied[index]`)."""
        edits = self.applied
        if not 0 <= index < len(edits):
            raise Problem("STR001", f"{len(edits)} edits were applied, there is no {index}", help="session.applied")
        plans = [self._stages_after(edits[:count]).plan for count in (index, index + 1)]
        before, after = ({step.name: step for step in plan.steps if isinstance(step, Call)} for plan in plans)
        return diffs(before, after)

    def _moved_by(self, edits: Edits) -> Moved:
        if edits not in self._moved:
            self._moved[edits] = self._prices.program(self._stages_after(edits).program)
        return self._moved[edits]

    def _stages_after(self, edits: Edits) -> Stages:
        state = self._states.get(edits)
        known = state.stages if state is not None else None
        return known or (self._replanned(flat(edits), Journal(keep=False)) if edits else self._unedited)

    # ---- events ----

    def subscribe(self, callback: Callable[[SessionEvent], None]) -> Callable[[], None]:
        """Have a function called with every event of the session, in the thread where it happens; what is returned
        ends that."""
        return self.operations.subscribe(callback)

    def events(self, after: int = 0) -> tuple[SessionEvent, ...]:
        """What happened after the event of this id."""
        return self.operations.events(after)

    def cancel(self) -> bool:
        """Have what the session is doing, in whatever thread, raise STR014 there; False where it is doing nothing. The
        session is as it was before."""
        return self.operations.cancel()


def _require_memory(compiled: Artifact) -> None:
    """A layout or a place by hand may ask for any amount of memory."""
    needed = compiled.arena_bytes + compiled.packed_bytes + compiled.temporary_bytes
    needed += compiled.scratch_bytes * compiled.threads
    present = physical_bytes()
    if present is not None and needed > present:
        raise Problem("STR301", f"the program would take {needed >> 20} MB; the machine has {present >> 20}",
                      help="session.preview(...) shows what a pass would change")  # fmt: skip
