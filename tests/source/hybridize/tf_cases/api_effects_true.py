# Statements that have effects.
#
# f0: tensor effects computes -> no (side_effects)
# f1: tensor effects computes -> no (side_effects)
# f2: tensor effects computes -> no (side_effects)
# f3: tensor effects computes -> no (side_effects)
# f4: tensor effects computes -> no (side_effects)
# f5: tensor effects computes -> no (side_effects)
# f7: tensor effects computes -> no (side_effects)
# f8: tensor effects computes -> no (side_effects)
# f9: tensor effects computes -> no (side_effects)
# f10: tensor effects computes -> no (side_effects)
# f11: tensor effects computes -> no (side_effects)
# f12: tensor effects computes -> no (side_effects)
# f13: tensor effects computes -> no (side_effects)
# f14: tensor effects computes -> no (side_effects)
# f15: tensor effects computes -> no (side_effects)
# f16: tensor effects computes -> no (side_effects)
# f17: tensor ~effects computes -> ~
# f18: tensor ~effects computes -> ~
# f19: tensor effects computes -> no (side_effects)
# f20: tensor effects computes -> no (side_effects)
# f21: tensor effects computes -> no (side_effects)
# f22: tensor effects computes -> no (side_effects)
# f23: tensor ~effects computes -> ~
# f24: tensor effects computes -> no (side_effects)
# f25: tensor effects computes -> no (side_effects)
# f26: tensor effects computes -> no (side_effects)
# f27: tensor effects computes -> no (side_effects)
# f28: tensor effects computes -> no (side_effects)
# f29: tensor effects computes -> no (side_effects)
# f30: tensor effects computes -> no (side_effects)
# f31: tensor effects computes -> no (side_effects)
# f32: tensor effects computes -> no (side_effects)
# f33: tensor effects computes -> no (side_effects)
# f34: tensor effects computes -> no (side_effects)
# f35: tensor effects computes -> no (side_effects)
# f36: tensor effects computes -> no (side_effects)
# f37: tensor effects computes -> no (side_effects)
# f38: tensor effects computes -> no (side_effects)
# f39: tensor effects computes -> no (side_effects)
# f40: tensor effects computes -> no (side_effects)
# f41: tensor effects computes -> no (side_effects)
import copy
import json
import keras
import logging
import math
import os
import queue as queue_module
import re
import shutil
import subprocess
import sys
import time
import warnings
from collections import Counter, defaultdict, deque
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import tensorflow as tf
from absl import logging as absl_logging

log = []
table = {}
names = set()
queue = queue_module.Queue()
counter = count()
matrix_np = np.zeros(3)
v = tf.Variable(0.0)
metric = tf.keras.metrics.Mean()


class Box:
    pass


box = Box()


def f0(x):
    print(1)
    return x + 1.0

def f1(x):
    log.append(1)
    return x + 1.0

def f2(x):
    table['a'] = 1
    return x + 1.0

def f3(x):
    table.update(b=2)
    return x + 1.0

def f4(x):
    box.value = 3
    return x + 1.0

def f5(x):
    setattr(box, 'v', 1)
    return x + 1.0

def f7(x):
    names.add('a')
    return x + 1.0

def f8(x):
    log.extend([1])
    return x + 1.0

def f9(x):
    log[:] = []
    return x + 1.0

def f10(x):
    log.insert(0, 1)
    return x + 1.0

def f11(x):
    log.clear()
    return x + 1.0

def f12(x):
    open('f.txt', 'w').close()
    return x + 1.0

def f13(x):
    sys.stdout.write('x')
    return x + 1.0

def f14(x):
    logging.info('x')
    return x + 1.0

def f15(x):
    os.makedirs('d', exist_ok=True)
    return x + 1.0

def f16(x):
    Path('p.txt').touch()
    return x + 1.0

def f17(x):
    input if False else print()
    return x + 1.0

def f18(x):
    warnings.warn('x')
    return x + 1.0

def f19(x):
    matrix_np[0] = 1.0
    return x + 1.0

def f20(x):
    matrix_np.fill(0.0)
    return x + 1.0

def f21(x):
    matrix_np.sort()
    return x + 1.0

def f22(x):
    np.save('m.npy', matrix_np)
    return x + 1.0

def f23(x):
    time.sleep(0)
    return x + 1.0

def f24(x):
    globals()['later'] = 1
    return x + 1.0

def f25(x):
    box.__dict__['k'] = 1
    return x + 1.0

def f26(x):
    next(counter)
    return x + 1.0

def f27(x):
    json.dump({}, open('j.json', 'w'))
    return x + 1.0

def f28(x):
    queue.put(1)
    return x + 1.0

def f29(x):
    [log.append(i) for i in range(2)]
    return x + 1.0

def f30(x):
    log.sort()
    return x + 1.0

def f31(x):
    os.environ.setdefault('A', 'B')
    return x + 1.0

def f32(x):
    sys.path.append('x')
    return x + 1.0

def f33(x):
    shutil.rmtree('nothing', ignore_errors=True)
    return x + 1.0

def f34(x):
    subprocess.run(['true'])
    return x + 1.0

def f35(x):
    table.pop('a', None)
    return x + 1.0

def f36(x):
    global table
    table |= {'c': 3}
    return x + 1.0

def f37(x):
    log.__setitem__(slice(None), [])
    return x + 1.0

def f38(x):
    list(map(log.append, [1]))
    return x + 1.0

def f39(x):
    absl_logging.info('x')
    return x + 1.0

def f40(x):
    tf.get_logger().info('x')
    return x + 1.0

def f41(x):
    tf.io.gfile.makedirs('g')
    return x + 1.0


f0(tf.constant(1.0))
f1(tf.constant(1.0))
f2(tf.constant(1.0))
f3(tf.constant(1.0))
f4(tf.constant(1.0))
f5(tf.constant(1.0))
f7(tf.constant(1.0))
f8(tf.constant(1.0))
f9(tf.constant(1.0))
f10(tf.constant(1.0))
f11(tf.constant(1.0))
f12(tf.constant(1.0))
f13(tf.constant(1.0))
f14(tf.constant(1.0))
f15(tf.constant(1.0))
f16(tf.constant(1.0))
f17(tf.constant(1.0))
f18(tf.constant(1.0))
f19(tf.constant(1.0))
f20(tf.constant(1.0))
f21(tf.constant(1.0))
f22(tf.constant(1.0))
f23(tf.constant(1.0))
f24(tf.constant(1.0))
f25(tf.constant(1.0))
f26(tf.constant(1.0))
f27(tf.constant(1.0))
f28(tf.constant(1.0))
f29(tf.constant(1.0))
f30(tf.constant(1.0))
f31(tf.constant(1.0))
f32(tf.constant(1.0))
f33(tf.constant(1.0))
f34(tf.constant(1.0))
f35(tf.constant(1.0))
f36(tf.constant(1.0))
f37(tf.constant(1.0))
f38(tf.constant(1.0))
f39(tf.constant(1.0))
f40(tf.constant(1.0))
f41(tf.constant(1.0))
