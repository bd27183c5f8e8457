# Net.forward: tensor computes -> to_graph
from . import ops
from .layers.scale import scale


class Net:
    def forward(self, x):
        return scale(ops.shift(x))
