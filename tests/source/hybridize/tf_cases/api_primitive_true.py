# Values that are primitives, beside a tensor.
#
# f0: tensor primitive computes -> no (primitive_parameter)
# f1: tensor primitive computes -> no (primitive_parameter)
# f2: tensor primitive computes -> no (primitive_parameter)
# f3: tensor primitive computes -> no (primitive_parameter)
# f4: tensor primitive computes -> no (primitive_parameter)
# f5: tensor primitive computes -> no (primitive_parameter)
# f6: tensor primitive computes -> no (primitive_parameter)
# f7: tensor primitive computes -> no (primitive_parameter)
# f8: tensor primitive computes -> no (primitive_parameter)
# f9: tensor primitive computes -> no (primitive_parameter)
# f10: tensor primitive computes -> no (primitive_parameter)
# f11: tensor primitive computes -> no (primitive_parameter)
# f12: tensor primitive computes -> no (primitive_parameter)
# f13: tensor primitive computes -> no (primitive_parameter)
# f14: tensor primitive computes -> no (primitive_parameter)
# f15: tensor primitive computes -> no (primitive_parameter)
# f16: tensor primitive computes -> no (primitive_parameter)
# f17: tensor primitive computes -> no (primitive_parameter)
# f18: tensor primitive computes -> no (primitive_parameter)
# f19: tensor primitive computes -> no (primitive_parameter)
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

def f15(x, n):
    return x + 1.0

def f16(x, n):
    return x + 1.0

def f17(x, n):
    return x + 1.0

def f18(x, n):
    return x + 1.0

def f19(x, n):
    return x + 1.0


f0(base, 1)
f1(base, 2.5)
f2(base, 'text')
f3(base, -3)
f4(base, 1 + 2)
f5(base, LIMIT)
f6(base, CONFIG['n'])
f7(base, NAMES[0])
f8(base, Settings.size)
f9(base, settings.rate)
f10(base, 2 ** 3)
f11(base, 'a' + 'b')
f12(base, b'raw')
f13(base, 1e-3)
f14(base, 3 // 2)
f15(base, f'{1}')
f16(base, 1j)
f17(base, min(1, 2))
f18(base, abs(-2))
f19(base, round(2.5))
