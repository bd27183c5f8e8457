# Statements that have no effects.
#
# f0: tensor computes -> to_graph
# f1: tensor computes -> to_graph
# f2: tensor computes -> to_graph
# f3: tensor computes -> to_graph
# f4: tensor computes -> to_graph
# f5: tensor computes -> to_graph
# f6: tensor computes -> to_graph
# f7: tensor computes -> to_graph
# f8: tensor computes -> to_graph
# f9: tensor computes -> to_graph
# f10: tensor computes -> to_graph
# f11: tensor computes -> to_graph
# f12: tensor computes -> to_graph
# f13: tensor computes -> to_graph
# f14: tensor computes -> to_graph
# f15: tensor computes -> to_graph
# f16: tensor computes -> to_graph
# f17: tensor computes -> to_graph
# f18: tensor computes -> to_graph
# f19: tensor computes -> to_graph
# f20: tensor computes -> to_graph
# f21: tensor computes -> to_graph
# f22: tensor computes -> to_graph
# f23: tensor computes -> to_graph
# f24: tensor computes -> to_graph
# f25: tensor computes -> to_graph
# f26: tensor computes -> to_graph
# f27: tensor computes -> to_graph
# f28: tensor computes -> to_graph
# f29: tensor computes -> to_graph
# f30: tensor computes -> to_graph
# f31: tensor computes -> to_graph
# f32: tensor computes -> to_graph
# f33: tensor computes -> to_graph
# f34: tensor computes -> to_graph
# f35: tensor computes -> to_graph
# f36: tensor computes -> to_graph
# f37: tensor computes -> to_graph
# f38: tensor computes -> to_graph
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
    tf.print('x', output_stream=sys.stderr)
    return x + 1.0

def f1(x):
    local = []
    local.append(1)
    return x + 1.0

def f2(x):
    d = {}
    d['a'] = 1
    return x + 1.0

def f3(x):
    v.assign_add(1.0)
    return x + 1.0

def f4(x):
    b = Box()
    b.value = 1
    return x + 1.0

def f5(x):
    s = set()
    s.add(1)
    return x + 1.0

def f6(x):
    a = np.zeros(2)
    a[0] = 1.0
    return x + 1.0

def f7(x):
    y = sorted(log)
    return x + 1.0

def f8(x):
    z = list(log)
    z.append(1)
    return x + 1.0

def f9(x):
    c = copy.copy(log)
    c.append(2)
    return x + 1.0

def f10(x):
    c = copy.deepcopy(table)
    c['q'] = 1
    return x + 1.0

def f11(x):
    k = dict(table)
    k.update(a=2)
    return x + 1.0

def f12(x):
    e = log + [1]
    e.append(3)
    return x + 1.0

def f13(x):
    q = deque()
    q.append(1)
    return x + 1.0

def f14(x):
    assert x is not None
    return x + 1.0

def f15(x):
    t = tf.Variable if False else None
    return x + 1.0

def f16(x):
    w = json.dumps({'a': 1})
    return x + 1.0

def f17(x):
    p = os.path.join('a', 'b')
    return x + 1.0

def f18(x):
    r = ' '.join(names)
    return x + 1.0

def f19(x):
    it = iter(log)
    next(it, None)
    return x + 1.0

def f20(x):
    g = (i for i in range(3))
    next(g)
    return x + 1.0

def f21(x):
    m = math.sqrt(2.0)
    return x + 1.0

def f22(x):
    u = np.copy(matrix_np)
    u[0] = 5.0
    return x + 1.0

def f23(x):
    o = type('T', (), {})()
    o.a = 1
    return x + 1.0

def f24(x):
    tf.debugging.assert_equal(1, 1)
    return x + 1.0

def f25(x):
    metric.update_state(1.0)
    return x + 1.0

def f26(x):
    len(log)
    return x + 1.0

def f27(x):
    h = re.compile('a').match('abc')
    return x + 1.0

def f28(x):
    text = 'a'
    text += 'b'
    return x + 1.0

def f29(x):
    n = 0
    n += 1
    return x + 1.0

def f30(x):
    x += 1.0
    return x + 1.0

def f31(x):
    pair = (1, 2)
    a, b = pair
    return x + 1.0

def f32(x):
    st = SimpleNamespace()
    st.a = 1
    return x + 1.0

def f33(x):
    mx = max(log, default=0)
    return x + 1.0

def f34(x):
    cnt = Counter()
    cnt['a'] += 1
    return x + 1.0

def f35(x):
    dd = defaultdict(list)
    dd['a'].append(1)
    return x + 1.0

def f36(x):
    tf.debugging.enable_check_numerics if False else None
    return x + 1.0

def f37(x):
    sl = slice(0, 1)
    return x + 1.0

def f38(x):
    keras.ops.add(1.0, 2.0)
    return x + 1.0


f0(tf.constant(1.0))
f1(tf.constant(1.0))
f2(tf.constant(1.0))
f3(tf.constant(1.0))
f4(tf.constant(1.0))
f5(tf.constant(1.0))
f6(tf.constant(1.0))
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
