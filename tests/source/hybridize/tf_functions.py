"""From the name of a function to the function: methods need an object, functions in functions need a call around them.

A class is built with arguments that are tried as those of functions are; where none fit, the object is not initialised,
as some methods need nothing of it. A function in a function is taken out of a
call of the one around it, which is watched: with the arguments that it got there, or as what was returned.
"""

from __future__ import annotations

import gc
import inspect
import itertools
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType
from typing import Any

import tensorflow as tf

from source.hybridize.tf_arguments import Arguments, Candidate, Missing, Parameters, tries
from source.hybridize.tf_stand_ins import StandIn, imported

#: a function and what it was called with
Seen = tuple[Any, Arguments]
#: calls a function, and says whether that worked
Works = Callable[[Any, list[Any], dict[str, Any]], bool]
_OBJECTS = 4  #: of a class that are tried, made with different arguments
_BUILT = ((3, 4), (2, 3, 4), (2, 4, 4, 3))
_CALLS = 12  #: of the function around one that are watched


def functions(candidate: Candidate, works: Works) -> Iterator[tuple[Any, list[Seen]]]:
    """What may be called by that name; and calls of it that were seen, which need no arguments to be made."""
    if candidate.around is None:
        for function in _resolved(candidate, works):
            yield function, []
        return
    seen: list[Seen] = []
    returned: list[Any] = []
    for around in _resolved(candidate.around, works):
        for _ in itertools.islice(_watched(candidate, around, works, seen, returned), _CALLS):
            if len(seen) >= 3:
                yield seen[0][0], seen[:3]
                return
    if seen:
        yield seen[0][0], [*seen, seen[0], seen[0]][:3]
    for function in returned:
        yield function, []


def _resolved(candidate: Candidate, works: Works) -> Iterator[Any]:
    found: Any = imported(candidate.module)
    owner = None
    for part in candidate.function.split("."):
        owner, found = found, getattr(found, part)
    name = candidate.function.rpartition(".")[2]
    if not isinstance(owner, type) or isinstance(owner.__dict__.get(name), (staticmethod, classmethod)):
        yield found
        return
    objects = _objects(owner, candidate.constructor, works)
    for one in itertools.chain(itertools.islice(objects, _OBJECTS), [owner.__new__(owner)]):
        yield getattr(one, name)


def _objects(owner: type, constructor: Parameters | None, works: Works) -> Iterator[Any]:
    """Objects of a class; layers with weights for inputs of some shapes."""
    made: list[Any] = []

    def make(*args: Any, **kwargs: Any) -> None:
        made.append(owner(*args, **kwargs))

    parameters = constructor if constructor is not None else _asked_for(owner)
    for arguments in itertools.chain([([], {})], tries(parameters) if parameters else ()):
        if not works(make, *arguments):
            continue
        for shape in _BUILT if getattr(made[-1], "built", True) is False else ():
            if works(make, *arguments) and works(made[-1].build, [shape], {}):
                yield made[-1]
        if works(make, *arguments):
            yield made[-1]


def _asked_for(owner: type) -> Parameters:
    """What an inherited `__init__` asks for."""
    try:
        signature = inspect.signature(owner)
    except (TypeError, ValueError):
        return ()
    kinds = {inspect.Parameter.POSITIONAL_OR_KEYWORD: "normal", inspect.Parameter.KEYWORD_ONLY: "keyword"}
    return tuple(
        (one.name, kinds[one.kind], None if one.default is one.empty else Missing())
        for one in signature.parameters.values()
        if one.kind in kinds
    )


def _watched(candidate: Candidate, around: Any, works: Works, seen: list[Seen], returned: list[Any]) -> Iterator[None]:
    """Calls the function around, and keeps what becomes of the one inside in the calls that work."""
    assert candidate.around is not None
    for arguments in tries(candidate.around.parameters):
        noted: list[Seen] = []
        results: list[Any] = []

        def call(*args: Any, noted: list[Seen] = noted, results: list[Any] = results, **kwargs: Any) -> None:
            sys.setprofile(lambda frame, event, _: _note(frame, event, candidate.function, noted))
            try:
                results.append(around(*args, **kwargs))
            finally:
                sys.setprofile(None)

        if works(call, *arguments):
            seen += noted
            returned += [one for one in tf.nest.flatten(results) if _is_called(one, candidate.function)]
            yield


def _note(frame: FrameType, event: str, name: str, seen: list[Seen]) -> None:
    if event != "call" or len(seen) >= 3 or _dotted(frame.f_code) != name or not tf.executing_eagerly():
        return
    function = _function_of(frame)
    if function is not None:
        seen.append((function, _passed(frame)))


def _function_of(frame: FrameType) -> FunctionType | None:
    """The function that runs in a frame: the one with its code and what it closes over."""
    code = frame.f_code
    names = frame.f_locals
    for one in gc.get_referrers(code):
        if isinstance(one, FunctionType) and one.__code__ is code:
            cells = zip(code.co_freevars, one.__closure__ or ())
            if all(_content(cell) is names.get(name) for name, cell in cells):
                return one
    return None


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _passed(frame: FrameType) -> Arguments:
    code, values = frame.f_code, frame.f_locals
    count = code.co_argcount
    args = [values[name] for name in code.co_varnames[:count]]
    kwargs = {name: values[name] for name in code.co_varnames[count : count + code.co_kwonlyargcount]}
    rest = count + code.co_kwonlyargcount
    if code.co_flags & inspect.CO_VARARGS:
        args += values[code.co_varnames[rest]]
        rest += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        kwargs |= values[code.co_varnames[rest]]
    return args, kwargs


def _is_called(value: Any, name: str) -> bool:
    code = getattr(value, "__code__", None)
    return isinstance(code, CodeType) and _dotted(code) == name and not isinstance(value, StandIn)


def _dotted(code: CodeType) -> str:
    return code.co_qualname.replace(".<locals>", "")
