# go: tensor recursive computes -> no (recursive)
from main import start


def go(x):
    return start(x - 1.0)
