# double: tensor computes -> to_graph
# hidden: tensor computes -> to_graph
__all__ = ["double"]


def double(x):
    return x * 2.0


def hidden(x):
    return x * 3.0
