# from tensorflow import *.
#
# f: tensor computes -> to_graph
from tensorflow import *  # noqa: F403


def f(x):
    return square(x)  # noqa: F405


f(constant([1.0, 2.0]))  # noqa: F405
