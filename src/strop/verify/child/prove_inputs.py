"""How to make a model and its inputs, when nobody says: by an entry, by a configuration class, by names and trial.

Sizes are small and do not divide each other where they can be (a batch of 3, 7 positions; then 2 and 12), so that
dimensions that were confused do not happen to fit. A guess counts only if the original accepts it; then both versions
get it.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import inspect
import itertools
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

WIDTH, HEADS, INNER, VOCABULARY = 48, 3, 29, 101
_TRIES = 400  #: of inputs for one model
_SECONDS = 20.0  #: that are spent on looking for inputs of one model


class Shape(NamedTuple):
    """The sizes of an input that a model does not fix."""

    batch: int
    length: int
    image: int


SHAPES = Shape(3, 7, 32), Shape(2, 12, 48)

#: a constructor's argument or a field of a configuration, by the words of its name; the first that matches wins
SIZES: tuple[tuple[str, Any], ...] = (
    (r".*(vocab|num_embeddings|n_tokens|num_tokens).*", VOCABULARY),
    (r".*(num_labels|num_classes|n_classes|classes).*", 5),
    (r".*(eps|epsilon)$", 1e-5),
    (r".*(dropout|drop|p_drop|drop_rate|drop_prob|drop_path).*", 0.1),
    (r".*(num|n)_?(key_value|kv)_?heads.*", HEADS),
    (r".*(heads|n_head|num_head|nhead).*", HEADS),
    (r".*(head_dim|head_size|d_head|d_kv|key_value_proj_dim).*", WIDTH // HEADS),
    (r".*(layers|depth|blocks|num_hidden_layers|n_layer).*", 2),
    (r".*(intermediate|ffn|d_ff|inner|mlp_dim|hidden_features|feedforward|n_inner).*", INNER),
    (r".*(max_position|max_len|max_seq|context|block_size|n_positions|seq_len|max_length).*", 32),
    (r".*(type_vocab|segments).*", 2),
    (r".*(image|img)_?(size)?$", 32),
    (r".*(patch).*", 8),
    (r".*(kernel_size|kernel)$", 3),
    (r".*(stride|dilation|groups|padding|ratio|factor)$", 1),
    (r".*(in_channels|in_chans|num_channels|channels_in|in_planes)$", 3),
    (r".*(out_channels|channels|planes|width|filters)$", 8),
    (r"bias|causal|is_decoder|qkv_bias|affine|.*_bias", True),
    (r".*(hidden|dim|d_model|embed|emb|features|size|n_embd|width|nf|nx|normalized_shape).*", WIDTH),
)


def prove(job: dict[str, Any], proving: ModuleType) -> Iterator[dict[str, Any]]:
    """Compare both versions of the job's file by every way that it offers; a proof per thing that was run."""
    before = _imported(job)
    try:
        after = proving.load_edited(before, Path(job["after"]).read_text(encoding="utf-8"), job["folder"])
    except ImportError:
        raise  # what the kernel needs is not installed here
    except Exception as error:
        why = [f"only the edited version raises {type(error).__name__}: {error}"[:300]]
        yield {"what": "import", "run": job["functions"], "problem": "", "differences": why, "compared": []}
        return
    wanted = set(job["functions"])
    left = set(wanted)
    for what, run in _subjects(before, after, job, wanted):
        if not left:
            break
        proof: dict[str, Any] = {"what": what, "run": [], "problem": "", "differences": [], "compared": []}
        torch.manual_seed(job["seed"])
        with proving.Watch(str(after.__file__)) as watch:
            try:
                outcome = run(proving.Comparison(job["seed"]))
                proof |= vars(outcome)
                if not outcome.tensors and not outcome.differences:
                    proof["problem"] = "it returns no tensor that could be compared"
            except Exception as error:
                proof["problem"] = f"{type(error).__name__}: {error}"[:300]
        proof["run"] = sorted(watch.seen & wanted)
        left -= set(() if proof["problem"] else proof["run"])
        yield proof


def _imported(job: dict[str, Any]) -> ModuleType:
    if job["module"]:
        return importlib.import_module(job["module"])
    spec = importlib.util.spec_from_file_location(Path(job["file"]).stem, job["file"])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


Run = Callable[[Any], Any]


def _subjects(
    before: ModuleType, after: ModuleType, job: dict[str, Any], wanted: set[str]
) -> Iterator[tuple[str, Run]]:
    """What can be run, the surest first: the entry, models with a configuration, edited classes, edited functions."""
    if job["entry"]:
        yield (
            f"entry {job['entry']}",
            partial(_by_entry, before=before, after=after, entry=job["entry"], roots=job["path"]),
        )
    for name in _configured(before, wanted):
        yield name, partial(_by_configuration, one=getattr(before, name), two=getattr(after, name))
    owners = dict.fromkeys(name.split(".")[0] for name in sorted(wanted))
    for name in owners:
        kind = getattr(before, name, None)
        if isinstance(kind, type) and issubclass(kind, nn.Module):
            yield name, partial(_by_class, before=before, after=after, name=name)
        elif inspect.isfunction(kind):
            yield name, partial(_by_function, before=kind, after=getattr(after, name))
    for name in _users(before, owners):
        yield name, partial(_by_class, before=before, after=after, name=name)


# ---- by an entry -----------------------------------------------------------------------------------------------------


def _by_entry(comparison: Any, before: ModuleType, after: ModuleType, entry: str, roots: list[str]) -> Any:
    """A function, of the file or `other.py:function`, that returns a model and its inputs: a tuple, a dict, or a list
    of several."""
    made = []
    for module in (before, after):
        torch.manual_seed(comparison.seed)
        with _imported_as(before.__name__, module, roots):
            found = _entry_function(module, entry)()
        if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], nn.Module)):
            raise TypeError(f"{entry}() must return a model and its inputs")
        made.append(found)
    (one, inputs), (two, _) = made
    given = inputs if isinstance(inputs, list) else [inputs]
    return comparison.models(one, two, *((each,) if isinstance(each, Tensor) else each for each in given))


def _entry_function(module: ModuleType, entry: str) -> Any:
    file, _, name = entry.rpartition(":")
    if not file:
        return getattr(module, name)
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(f"{file} is no Python file")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return getattr(made, name)


@contextmanager
def _imported_as(name: str, module: ModuleType, roots: list[str]) -> Iterator[None]:
    """What imports the edited file meanwhile gets this version of it: the project's other modules are loaded anew."""
    kept = {key: one for key, one in sys.modules.items() if _is_under(one, roots) and one is not module}
    for key in kept:
        del sys.modules[key]
    sys.modules[name] = module
    try:
        yield
    finally:
        sys.modules.update(kept)


def _is_under(module: Any, roots: list[str]) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and "site-packages" not in file and any(file.startswith(f"{r}/") for r in roots if r)


# ---- by a configuration ----------------------------------------------------------------------------------------------


def _configured(module: ModuleType, wanted: set[str]) -> list[str]:
    """Whole models with a `config_class`, the smaller names (base models) first."""
    found = []
    for name, kind in vars(module).items():
        if not isinstance(kind, type) or not issubclass(kind, nn.Module) or kind.__module__ != module.__name__:
            continue
        if getattr(kind, "config_class", None) is not None and "forward" in vars(kind):
            found.append(name)
    return sorted(found, key=lambda name: (not name.endswith("Model"), len(name)))[:3] if wanted else []


def _by_configuration(comparison: Any, one: Any, two: Any) -> Any:
    config = _small_configuration(one.config_class)
    if hasattr(config, "_attn_implementation"):
        config._attn_implementation = "eager"
    torch.manual_seed(comparison.seed)
    before, after = one(config), two(config)
    inputs = [_accepted(before.eval(), dict(_named_inputs(before.forward, SHAPES[0])))]
    more = [dict(_named_inputs(before.forward, shape)) for shape in SHAPES[1:]]
    return comparison.models(before, after, *inputs, *(given for given in more if _takes(before, given)))


def _small_configuration(kind: Any) -> Any:
    config = kind()
    for name, value in list(vars(config).items()):
        if isinstance(value, bool) or not isinstance(value, int) or name.endswith(("_token_id", "_index", "_id")):
            continue
        small = _size(name)
        if isinstance(small, int) and not isinstance(small, bool) and small < value:
            setattr(config, name, small)
    return config


def _named_inputs(forward: Any, shape: Shape) -> Iterator[tuple[str, Any]]:
    signature = inspect.signature(forward)
    for name in signature.parameters:
        if name in ("input_ids", "decoder_input_ids"):
            yield name, torch.randint(3, VOCABULARY - 2, (shape.batch, shape.length))
        elif name == "attention_mask" and "input_ids" in signature.parameters:
            mask = torch.ones(shape.batch, shape.length, dtype=torch.long)
            mask[0, shape.length - 2 :] = 0
            yield name, mask
        elif name == "pixel_values":
            yield name, torch.randn(shape.batch, 3, shape.image, shape.image)


def _accepted(model: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    with torch.no_grad():
        model(**inputs)
    return inputs


# ---- by classes and functions ----------------------------------------------------------------------------------------


def _users(module: ModuleType, owners: Mapping[str, Any]) -> list[str]:
    """Other classes of the file that name an edited one in their source."""
    found = []
    for name, kind in vars(module).items():
        if not isinstance(kind, type) or not issubclass(kind, nn.Module) or kind.__module__ != module.__name__:
            continue
        try:
            source = inspect.getsource(kind)
        except (OSError, TypeError):
            continue
        if name not in owners and any(re.search(rf"\b{re.escape(owner)}\b", source) for owner in owners):
            found.append(name)
    return found


def _by_class(comparison: Any, before: ModuleType, after: ModuleType, name: str) -> Any:
    problem: Exception | None = None
    for arguments in _constructions(before, getattr(before, name)):
        torch.manual_seed(comparison.seed)
        try:
            model = getattr(before, name)(**arguments(before))
        except Exception as error:
            problem = problem or error
            continue
        inputs = _found_inputs(model.eval(), model.forward)
        if inputs:
            torch.manual_seed(comparison.seed)
            return comparison.models(model, getattr(after, name)(**arguments(after)), *inputs)
    raise problem or TypeError(f"no inputs were found that {name} takes")


def _constructions(module: ModuleType, kind: type) -> Iterator[Callable[[ModuleType], dict[str, Any]]]:
    """Arguments for a constructor: a configuration of the same file, or sizes by the names of the parameters."""
    parameters = [
        p for p in inspect.signature(kind).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    required = [p for p in parameters if p.default is p.empty]
    configs = [p.name for p in required if "config" in p.name.lower() or p.name in ("args", "cfg", "hparams")]
    if configs:
        others = [p for p in required if p.name not in configs]
        for name in [*_configurations(module), ""]:
            yield partial(_with_configuration, others=others, configs=configs, name=name)
        return
    yield lambda m: _arguments(required)
    yield lambda m: _arguments([p for p in parameters if p.default is p.empty or isinstance(p.default, int)])


def _with_configuration(
    module: ModuleType, others: list[inspect.Parameter], configs: list[str], name: str
) -> dict[str, Any]:
    """Arguments of which some are a configuration: one of the file's classes, or one that answers anything."""
    config = _config(getattr(module, name)) if name else _AnyConfig()
    return {**_arguments(others), **dict.fromkeys(configs, config)}


def _configurations(module: ModuleType) -> list[str]:
    kinds = {n: k for n, k in vars(module).items() if isinstance(k, type) and "config" in n.lower()}
    return sorted(kinds)


def _config(kind: type) -> Any:
    parameters = inspect.signature(kind).parameters.values()
    required = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    made = kind(**_arguments(required))
    if dataclasses.is_dataclass(made) or hasattr(kind, "model_type"):
        for name, value in list(vars(made).items()):
            small = _size(name)
            if isinstance(value, int) and not isinstance(value, bool) and isinstance(small, int) and small < value:
                try:
                    setattr(made, name, small)
                except (AttributeError, TypeError):
                    break
    return made


class _AnyConfig:
    """Answers every question with a size that fits its name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if "act" in name:
            return "gelu"
        return _size(name)


def _arguments(parameters: list[inspect.Parameter]) -> dict[str, Any]:
    return {p.name: _value(p) for p in parameters}


def _value(parameter: inspect.Parameter) -> Any:
    small = _size(parameter.name)
    if isinstance(parameter.default, bool):
        return parameter.default
    if isinstance(parameter.default, int) and isinstance(small, int):
        return min(small, parameter.default)
    return WIDTH if small is None else small


def _size(name: str) -> Any:
    return next((value for pattern, value in SIZES if re.fullmatch(pattern, name.lower())), None)


def _by_function(comparison: Any, before: Any, after: Any) -> Any:
    inputs = _found_inputs(before, before)
    if not inputs:
        raise TypeError(f"no inputs were found that {before.__name__} takes")
    return comparison.functions(before, after, *inputs)


def _found_inputs(function: Any, signature: Any) -> list[dict[str, Any]]:
    """The first of many inputs that the original takes, in each shape that it takes; empty if there is none.

    Parameters of one kind get tensors of one shape.
    """
    end = time.monotonic() + _SECONDS
    parameters = [
        p for p in inspect.signature(signature).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    required = [p.name for p in parameters if p.default is p.empty]
    optional = [p.name for p in parameters if p.default is None and re.search(_TENSORS, p.name.lower())]
    for names in [required, *([*required, name] for name in optional), [*required, *optional]]:
        kinds = dict.fromkeys(_kind(name) for name in names)
        for width in _widths(function):
            choices = [range(len(list(_candidates(kind, width, SHAPES[0])))) for kind in kinds]
            for chosen in itertools.islice(itertools.product(*choices), _TRIES):
                which = dict(zip(kinds, chosen))
                if time.monotonic() > end:
                    return []
                if _takes(function, _chosen(names, which, width, SHAPES[0])):
                    found = [_chosen(names, which, width, shape) for shape in SHAPES]
                    return [found[0], *(given for given in found[1:] if _takes(function, given))]
    return []


def _chosen(names: list[str], which: dict[str, int], width: int, shape: Shape) -> dict[str, Any]:
    return {name: list(_candidates(_kind(name), width, shape))[which[_kind(name)]] for name in names}


def _takes(function: Any, given: dict[str, Any]) -> bool:
    try:
        with torch.no_grad():
            function(**given)
    except Exception:
        return False
    return True


def _widths(function: Any) -> list[int]:
    """Widths that the layers of a model want, after the usual one."""
    found = [WIDTH]
    for module in function.modules() if isinstance(function, nn.Module) else ():
        if isinstance(module, nn.Linear):
            found.append(module.in_features)
        elif isinstance(module, nn.LayerNorm):
            found.append(module.normalized_shape[-1])
    return list(dict.fromkeys(found))[:4]


#: names of parameters that may be left out and want a tensor when they are not
_TENSORS = r"mask|bias|states|hidden|cos|sin|position|key|value|query|residual|gate"
_KINDS = (
    ("model", r"^(model|net|network|module)$"),
    ("rate", r"(^|_)(lr|learning_rate|weight_decay|momentum)$"),
    ("parameters", r"^(params|parameters)$"),
    ("ids", r"(^|_)(ids?|idx|tokens?|labels?)($|_)"),
    ("mask", r"mask|bias"),
    ("angle", r"^(cos|sin)$"),
    ("heads", r"(^|_)(q|k|v|query|key|value)s?($|_)"),
)


def _kind(name: str) -> str:
    return next((kind for kind, pattern in _KINDS if re.search(pattern, name.lower())), "states")


def _candidates(kind: str, width: int, shape: Shape) -> Iterator[Any]:
    """Tensors that a parameter of this kind may want, the likely ones first."""
    batch, length, image = shape
    if kind == "model":
        yield nn.Linear(width, INNER)
    if kind == "rate":
        yield 1e-3
    if kind == "parameters":
        yield list(nn.Linear(width, INNER).parameters())
    head = max(width // HEADS, 2) // 2 * 2
    if kind == "ids":
        yield torch.randint(0, VOCABULARY, (batch, length))
        yield torch.randint(0, 2, (batch, length))
    if kind == "mask":
        hidden = torch.zeros(batch, 1, 1, length)
        hidden[0, :, :, length - 2 :] = -1e4
        yield hidden
        yield hidden < 0
        yield torch.randn(1, HEADS, length, length)
        yield torch.ones(batch, length)
        yield None
    if kind == "angle":
        yield torch.randn(batch, length, head)
        yield torch.randn(length, head)
        yield torch.randn(batch, length, width)
    if kind == "heads":
        yield torch.randn(batch, HEADS, length, head)
    yield torch.randn(batch, length, width)
    yield torch.randn(batch, length, INNER)
    yield torch.randn(batch, 3, image, image)
    yield torch.randn(batch, 8, image - 19, image - 19)
    yield torch.randn(batch, HEADS, length, head)
    yield torch.randn(batch, width)
    yield torch.randint(0, 5, (batch, length))
