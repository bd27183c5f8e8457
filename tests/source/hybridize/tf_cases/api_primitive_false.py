# Values that are not primitives, beside a tensor.
#
# f0: tensor computes -> to_graph
# f1: tensor computes -> to_graph
# f2: tensor ~primitive computes -> ~
# f3: tensor computes -> to_graph
# f4: tensor computes -> to_graph
# f5: tensor computes -> to_graph
# f6: tensor computes -> to_graph
# f7: tensor computes -> to_graph
# f8: tensor computes -> to_graph
# f9: tensor computes -> to_graph
# f10: tensor computes -> to_graph
# f11: tensor ~primitive computes -> ~
# f12: tensor computes -> to_graph
# f13: tensor computes -> to_graph
# f14: tensor computes -> to_graph
import tensorflow as tf

LIMIT = 3
CONFIG = {"n": 2}
NAMES = ["a", "b"]
base = tf.constant([1.0, 2.0, 3.0])


class Settings:
    size = 4

    def __init__(self):
        self.rate = 0.1


settings = Settings()

def f0(x, n):
    return x + 1.0

def f1(x, n):
    return x + 1.0

def f2(x, n):
    return x + 1.0

def f3(x, n):
    return x + 1.0

def f4(x, n):
    return x + 1.0

def f5(x, n):
    return x + 1.0

def f6(x, n):
    return x + 1.0

def f7(x, n):
    return x + 1.0

def f8(x, n):
    return x + 1.0

def f9(x, n):
    return x + 1.0

def f10(x, n):
    return x + 1.0

def f11(x, n):
    return x + 1.0

def f12(x, n):
    return x + 1.0

def f13(x, n):
    return x + 1.0

def f14(x, n):
    return x + 1.0


f0(base, True)
f1(base, None)
f2(base, [1, 2])
f3(base, tf.constant(1))
f4(base, not LIMIT)
f5(base, print)
f6(base, tf.float32)
f7(base, base)
f8(base, Settings)
f9(base, settings)
f10(base, lambda: 1)
f11(base, {'a': 1})
f12(base, 1 > 2)
f13(base, False)
f14(base, isinstance(1, int))
