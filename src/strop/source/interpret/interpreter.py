"""The whole-program abstract interpreter: runs every module and function on abstract values up to a fixed point.

    program = Program(project)            # project.Project: the files; nothing is imported or executed
    program.run()
    program.functions                     # {"module:Class.method": Code}: every function of the scanned files
    program.events(id)                    # events.Event in source order, joined over all contexts
    program.reached(id)                   # [(id, chain)]: the function itself and all it may call, with places
    program.parameters(id)                # {name: ParameterFacts}: the joined value, each call site's, given or default
    program.callers(id)                   # [(id of the caller, Place of the call)]
    program.recursive(id)                 # True, False, or None when it calls things that nobody knows
    program.graph(id)                     # GraphMark: how it is made a graph function (`@tf.function` …), or None
    program.gave_up(id)                   # why the interpreter stopped following it, or ""
    program.framework(id)                 # "torch", "tensorflow" or None, by what it calls, takes and imports
    effects.Effects(program).of(id)       # side effects, transitively, with chains (effects.py)

How it works. A function is interpreted once per *context* (the object that a method is called on, the place of any
other call; bounded by `CONTEXTS`, beyond which contexts merge) as a `heap.Node`. Locals follow the order of statements;
branches join, loops repeat until nothing changes. Objects are named by the expression that allocates them, in context.
The heap only grows, and whoever read a cell that grows is run again. Functions that no module-level code reaches are
run last, on arguments about which nothing is known but hints, defaults and, if `speculate` is set, their names.
"""

from __future__ import annotations

import ast
import heapq
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from strop.source.apis import Apis, load
from strop.source.facts import Framework, Place
from strop.source.interpret import entries, events, queries
from strop.source.interpret.activation import GaveUp
from strop.source.interpret.callgraph import CallGraph
from strop.source.interpret.heap import MAX_KEYS, Cell, Frame, FunctionContext, Object, put
from strop.source.interpret.joins import grown, join
from strop.source.interpret.late_imports import LateImports
from strop.source.interpret.star_imports import StarImports
from strop.source.interpret.values import NOTHING, UNKNOWN, FunctionValue, Value, const, forget, unknown
from strop.source.project.declarations import Class, Code, Module
from strop.source.project.modules import Project

Answer = TypeVar("Answer")
MAX_CALL_DEPTH = 48
MAX_RUNS = 24
MIN_RUNS, MAX_RERUN = 6, 8_000  #: rounds that any function gets; nodes of syntax that all rounds of one may come to
CONTEXTS = (
    (1_500, 24),
    (4_000, 8),
    (20_000, 5),
    (60_000, 3),
    (10**9, 2),
)  #: contexts per function by lines of the program
MAX_CONTEXT_SIZE = 3_000  #: nodes of syntax that the contexts of one function may come to


@dataclass
class GraphMark:
    """How a function became a graph function."""

    place: Place
    by: str  #: dotted name, such as `tensorflow.function` or `torch.compile`
    kwargs: dict[str, Value] = field(default_factory=dict)
    decorator: bool = True


class Program:
    """Everything that is known of a project's code; see the module's documentation."""

    def __init__(
        self,
        project: Project,
        *,
        apis: Apis | None = None,
        hints: bool = True,
        speculate: bool = True,
        signatures: bool = False,
    ) -> None:
        forget()
        self.project = project
        self.apis = apis or load()
        self.hints = hints
        self.speculate = speculate
        self.signatures = signatures  #: `input_signature`s are asked for
        self.modules: dict[str, Module] = {module.name: module for module in project.scanned.values()}
        self.functions: dict[str, Code] = {f.id: f for module in self.modules.values() for f in module.functions}
        self.lines = sum(module.lines for module in self.modules.values())
        self.max_contexts = next(contexts for lines, contexts in CONTEXTS if self.lines <= lines)
        self.graphs: dict[Code, GraphMark] = {}
        self.defaults: dict[Code, dict[str, Value]] = {}
        self.atoms: dict[Code, FunctionValue] = {}
        self.members: dict[Class, dict[str, Cell]] = {}
        self.found: dict[tuple[tuple[Class | str, ...], str], tuple[Class | str, Cell | Value] | None] = {}
        self.bases: dict[Class, list[Value]] = {}
        self.orders: dict[Class, tuple[Class | str, ...]] = {}
        self.ancestors: dict[object, list[str]] = {}  #: what `entries.ancestor_names` found of the bases as they are
        self.class_decorators: dict[Class, list[str]] = {}
        self.instances: dict[Class, list[Object]] = {}
        self.records: dict[int, Class] = {}  #: classes that `namedtuple(…)` makes
        self.asked: set[Class] = set()  #: classes in which a member has been looked for
        self.definitions = 0  #: counts what is told late of functions and classes, and no cell holds
        self.mentioned: dict[ast.AST, tuple[str, ...]] = {}  #: the variables of statements and of their heads
        self.function_attributes: dict[tuple[Code, str], Cell] = {}
        self.escaped: dict[Code, Place] = {}
        self.wrappers: dict[Code, Code] = {}  #: what a decorator of the project put around a function
        self.speculated: dict[Code, list[str]] = {}
        self.empty_reads: dict[Cell, Value] = {}  #: what to take for cells that nothing ever writes
        self._frames: dict[Module, Frame] = {}
        self._module_nodes: dict[Module, FunctionContext] = {}
        self._namespaces: dict[str, Module] = {}
        self.stars = StarImports()
        self.late = LateImports(self)
        self._objects: dict[tuple[FunctionContext | None, int, str, object, int], Object] = {}
        self._queue: list[
            tuple[int, int, FunctionContext]
        ] = []  #: whoever has run least often goes first, then in order
        self._queued = 0
        self._depth = 0
        self._every: dict[str, Code] = {}
        self._call_graph: CallGraph | None = None
        self._users: dict[Object, list[str]] | None = None
        self._events: dict[str, list[events.Event]] = {}
        self._parameters: dict[str, dict[str, queries.ParameterFacts]] = {}
        self._callers: dict[str, list[tuple[str, Place]]] = {}
        self._frameworks: dict[str, Framework | None] = {}
        self._masks: dict[str, int] = {}
        self._answers: dict[tuple[str, Code], object] = {}

    # -- the fixed point -------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Interpret everything; afterwards the questions can be asked."""
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, 30_000))
        try:
            for module in list(self.modules.values()):
                self.run_module(module)
            self._settle()
            entries.run_entries(self)
        finally:
            sys.setrecursionlimit(limit)

    def _settle(self) -> None:
        """Work until nothing changes; then cells that are read but never written become unknown, and work goes on."""
        while True:
            while self._queue:
                node = heapq.heappop(self._queue)[-1]
                node.queued = False
                self._run(node)
            empty = [(cell, value) for cell, value in self.empty_reads.items() if not cell.value.atoms]
            self.empty_reads.clear()
            if not empty:
                return
            for cell, value in empty:
                self.write(cell, value)

    def settle(self) -> None:
        self._settle()

    def enqueue(self, node: FunctionContext) -> None:
        if not node.queued:
            node.queued = True
            self._queued += 1
            heapq.heappush(self._queue, (node.runs, self._queued, node))

    def _run(self, node: FunctionContext) -> None:
        from strop.source.interpret.statements import Body

        if node.running:
            self.enqueue_later(node)
            return
        if node.runs >= MAX_RUNS or (node.runs >= MIN_RUNS and node.runs * len(node.code.own()) >= MAX_RERUN):
            node.gave_up = node.gave_up or f"no fixed point after {node.runs} rounds"
            return
        node.running, node.stale = True, False
        node.runs += 1
        node.events = {}
        self._depth += 1
        body = Body(self, node)
        try:
            result = body.run()
        except GaveUp as reason:
            node.gave_up = str(reason)
            result = UNKNOWN
        except RecursionError:
            node.gave_up = "expressions or calls nested too deeply"
            result = UNKNOWN
        finally:
            self._depth -= 1
            node.running = False
        joined = grown(node.result, result)
        if joined is not node.result:
            node.result = joined
            for caller in list(node.callers):
                self.enqueue(caller)
        if node.stale:
            self.enqueue(node)

    def enqueue_later(self, node: FunctionContext) -> None:
        """A node that is being run needs another run afterwards."""
        node.stale = True

    def invoke(
        self,
        caller: FunctionContext | None,
        at: ast.AST,
        node: FunctionContext,
        bound: dict[str, Value],
        given: set[str],
        exempt: bool = False,
    ) -> None:
        """Let values flow into a function, and run it if it has not seen them before."""
        changed = node.runs == 0
        parameters = node.parameters
        for name, value in bound.items():
            old = parameters.setdefault(name, NOTHING)
            if old is value:
                continue
            joined = grown(old, value)
            if joined is not old:
                parameters[name] = joined
                changed = True
        site = caller, getattr(at, "lineno", 0), getattr(at, "col_offset", 0)
        passed = node.arguments.setdefault(site, {})
        for name in given:
            node.given[name] = None
            known = passed.get(name, NOTHING)
            if known is not bound[name]:
                passed[name] = join(known, bound[name])
        if caller is not None:
            node.callers[caller] = None
            if (at, node) not in caller.callees:
                caller.callees[at, node] = exempt
        if not changed:
            return
        if node.running:
            node.stale = True
        elif node.runs or self._depth >= MAX_CALL_DEPTH:
            self.enqueue(node)
        else:
            if caller is not None:
                del node.callers[caller]  # it is about to use the new result
            self._run(node)
            if caller is not None:
                node.callers[caller] = None

    def node(self, function: FunctionValue, key: object) -> FunctionContext:
        nodes = function.code.nodes
        full = (function.frame, key)
        found = nodes.get(full)
        if found is None:
            if len(nodes) >= min(self.max_contexts, max(1, MAX_CONTEXT_SIZE // len(function.code.own() or (0,)))):
                full = (None, None)
                found = nodes.get(full)
            if found is None:
                found = nodes[full] = FunctionContext(
                    function.code, key, function.frame or self.module_frame(function.code.module)
                )
        return found

    # -- the heap --------------------------------------------------------------------------------------------------

    def write(self, cell: Cell, value: Value) -> None:
        if put(cell, value):
            for reader in list(cell.readers):
                self._wake(reader)

    def _wake(self, reader: FunctionContext) -> None:
        if reader.running:
            reader.stale = True
        else:
            self.enqueue(reader)

    def allocate(self, owner: FunctionContext | None, at: object, kind: str, cls: Class | str, tag: int = 0) -> Object:
        key = owner, id(at), kind, cls, tag
        found = self._objects.get(key)
        if found is None:
            found = self._objects[key] = Object(kind, cls, owner, getattr(at, "lineno", 0))
            if isinstance(cls, Class):
                self.instances.setdefault(cls, []).append(found)
        return found

    def put_wild(self, obj: Object, element: Value, keys: Value = NOTHING, shuffle: bool = False) -> None:
        """Join into what a container holds under keys that are not known."""
        wild, known = grown(obj.wild, element), grown(obj.keys, keys)
        if wild is obj.wild and known is obj.keys and (obj.shuffled or not shuffle):
            return
        obj.wild, obj.keys, obj.shuffled = wild, known, obj.shuffled or shuffle
        obj.version += 1
        for reader in list(obj.readers):
            self._wake(reader)

    def put_items(self, obj: Object, items: Mapping[Any, Value]) -> None:
        """Join into what a container holds under constant keys or positions."""
        changed = False
        for key, value in items.items():
            if key not in obj.items and len(obj.items) >= MAX_KEYS:
                self.put_wild(obj, value, const(key) if obj.kind == "dict" else NOTHING)
                continue
            old = obj.items.get(key, NOTHING)
            joined = grown(old, value)
            if joined is not old or key not in obj.items:
                obj.items[key] = joined
                changed = True
        if changed:
            obj.version += 1
            for reader in list(obj.readers):
                self._wake(reader)

    def member(self, cls: Class, name: str, value: Value) -> None:
        """A variable of a class body."""
        self.write(self.member_cell(cls, name), value)

    def member_cell(self, cls: Class, name: str) -> Cell:
        cells = self.members.setdefault(cls, {})
        if name not in cells:
            cells[name] = Cell()
            self.found.clear()
            self.definitions += cls in self.asked
        return cells[name]

    # -- modules ---------------------------------------------------------------------------------------------------

    def module_frame(self, module: Module) -> Frame:
        frame = self._frames.get(module)
        if frame is None:
            node = FunctionContext(module.code, "module", None)
            node.frame.parent = None
            self._module_nodes[module] = node
            frame = self._frames[module] = node.frame
            module.code.nodes[None, "module"] = node
        return frame

    def module_node(self, module: Module) -> FunctionContext:
        self.module_frame(module)
        return self._module_nodes[module]

    def run_module(self, module: Module) -> None:
        node = self.module_node(module)
        if node.runs == 0 and not node.running:
            self._run(node)

    def find_module(self, importer: Module, dotted: str) -> Module | None:
        """The module of the project that an absolute import means; it has been run."""
        known = self.apis.is_known(self.apis.canonical(dotted))
        if importer.installed:
            return None if known else self._ran(self.project.find_installed(dotted))
        module = self.project.find(importer, dotted, known)
        if module is None and not known:
            module = self.project.find_installed(dotted)
        if module is None and not known and self.project.is_folder(importer, dotted):
            key = f"{importer.file}:{dotted}"
            if key not in self._namespaces:
                self._namespaces[key] = Module(dotted, importer.file, ast.Module([], []), True, 0)
            module = self._namespaces[key]
        return self._ran(module)

    def relative_module(self, importer: Module, level: int, dotted: str) -> Module | None:
        return self._ran(self.project.relative(importer, level, dotted))

    def submodule(self, module: Module, name: str) -> Module | None:
        """`package.name`, a file beside `__init__.py`, or a module of a namespace."""
        if not module.is_package:
            return None
        if module in self._namespaces.values():
            return self.find_module(module, f"{module.name}.{name}")
        return self._ran(self.project.relative(module, 1, name))

    def _ran(self, module: Module | None) -> Module | None:
        if module is not None:
            self.run_module(module)
        return module

    # -- questions -------------------------------------------------------------------------------------------------

    def code(self, id: str) -> Code:
        """The function with this id; also lambdas and functions of followed modules, which `functions` leaves out."""
        found = self.functions.get(id)
        if found is not None:
            return found
        if not self._every:
            self._every = {code.id: code for code in self.codes()}
        return self._every[id]

    def graph_of_calls(self) -> CallGraph:
        if self._call_graph is None:
            self._call_graph = CallGraph(self)
        return self._call_graph

    def nodes(self, id: str) -> list[FunctionContext]:
        return list(self.code(id).nodes.values())

    def events(self, id: str) -> list[events.Event]:
        found = self._events.get(id)
        if found is None:
            found = self._events[id] = queries.events_of(self, self.code(id))
        return found

    def reaches(self, id: str, kind: str, test: Callable[[Code], bool]) -> bool:
        """Whether a function or anything that it may call passes a test; `kind` names the test, it is asked once."""
        graph = self.graph_of_calls()
        if kind not in self._masks:
            passing = {code for code in {node.code for node in graph.nodes} if test(code)}
            self._masks[kind] = sum(1 << i for i, node in enumerate(graph.nodes) if node.code in passing)
        mask = self._masks[kind]
        return any(graph.reach[graph.component[graph.index[node]]] & mask for node in self.nodes(id))

    def once(self, kind: str, code: Code, ask: Callable[[], Answer]) -> Answer:
        """What a later pass asks again and again of a function; `kind` names the question."""
        key = kind, code
        if key not in self._answers:
            self._answers[key] = ask()
        return cast(Answer, self._answers[key])

    def reached(self, id: str) -> list[tuple[str, tuple[Place, ...]]]:
        return queries.reached(self, self.code(id))

    def parameters(self, id: str) -> dict[str, queries.ParameterFacts]:
        found = self._parameters.get(id)
        if found is None:
            found = self._parameters[id] = queries.parameters(self, self.code(id))
        return found

    def callers(self, id: str) -> list[tuple[str, Place]]:
        found = self._callers.get(id)
        if found is None:
            found = self._callers[id] = queries.callers(self, self.code(id))
        return found

    def recursive(self, id: str) -> bool | None:
        return queries.recursive(self, self.code(id))

    def graph(self, id: str) -> GraphMark | None:
        return self.graphs.get(self.code(id))

    def gave_up(self, id: str) -> str:
        return next((node.gave_up for node in self.nodes(id) if node.gave_up), "")

    def users_of(self, model: Object) -> list[str]:
        """The functions (and module bodies) that call an object as in `model(x)`."""
        if self._users is None:
            self._users = queries.users(self)
        return self._users.get(model, [])

    def framework(self, id: str) -> Framework | None:
        if id not in self._frameworks:
            self._frameworks[id] = queries.framework(self, self.code(id))
        return self._frameworks[id]

    def codes(self) -> Iterator[Code]:
        """Every function, lambdas and followed modules included."""
        followed = [module for module in self.project.followed.values() if module is not None]
        for module in [*self.modules.values(), *followed]:
            yield module.code
            yield from module.codes.values()

    def release(self) -> None:
        """Cut the circles, so that memory is free at once; a garbage collection takes far longer. Nothing can be asked
        of the program afterwards."""
        for obj in self._objects.values():
            obj.release()
        followed = [module for module in self.project.followed.values() if module is not None]
        for module in [*self.modules.values(), *followed, *self._namespaces.values()]:
            for code in [module.code, *module.codes.values()]:
                for node in code.nodes.values():
                    node.release()
                code.release()
            module.codes.clear()
            module.classes.clear()
            module.functions.clear()
            module.tree.body.clear()

    def objects_of(self, cls: Class) -> list[Object]:
        return self.instances.get(cls, [])

    def unknown_argument(self, code: Code, name: str) -> Value:
        return unknown(f"argument `{name}` of a function that nobody calls", before=True, of=code.id)
