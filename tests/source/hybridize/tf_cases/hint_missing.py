# Nobody calls it, and it does not say.
# gate: tensor? primitive? ~computes -> unknown (tensor_unknown)
import tensorflow as tf


def gate(x, mask):
    return x * mask
