# breaks: Attempted to call function marked as skipped
# says: no_benefit unsafe STR162

import uuid
import torch


def f(x):
    tag = uuid.uuid4().hex
    return {tag[:2]: x}


def args():
    return (torch.randn(3),)
