"""A pass: GELU by its tanh formula instead of by the error function, for whoever finds that accurate enough.

approximategelu{node=layer1.gelu}
"""

from collections.abc import Iterator
from dataclasses import dataclass

from strop import extend


@dataclass(frozen=True)
class ApproximateGelu(extend.GraphPass):
    """gelu(x) {approximate='none'}   →   gelu(x) {approximate='tanh'}"""

    node: str

    def check(self, ir: extend.Graph) -> extend.Verdict:
        """Whether it may be applied, and if not, why."""
        found = {node.name: node for node in ir.nodes}.get(self.node)
        if found is None:
            return extend.no(f"there is no node `{self.node}`")
        if not is_exact_gelu(found):
            return extend.no("it is no GELU by the error function", self.node)
        return extend.yes()

    def apply(self, ir: extend.Graph) -> extend.Graph:
        """The graph afterwards; the given one stays as it is."""
        old = next(node for node in ir.nodes if node.name == self.node)
        new = extend.build.make("gelu", old.inputs, {"approximate": "tanh"}, like=old)
        return ir.map({old: new})

    @classmethod
    def space(cls, ir: extend.Graph) -> Iterator["ApproximateGelu"]:
        """Every place where it may be applied: `session.space()` lists these."""
        return (cls(node.name) for node in ir.nodes if is_exact_gelu(node))


def is_exact_gelu(node: extend.Node) -> bool:
    return node.op == "gelu" and node.attrs["approximate"] == "none"
