# function: EarlyStopping.__call__
# breaks: Not captured as one graph
# says: keep unsafe STR155 STR170

import torch


class EarlyStopping:
    def __init__(self, patience=3):
        self.best = None
        self.count = 0
        self.patience = patience

    def __call__(self, val_loss):
        if self.best is None or val_loss < self.best:
            self.best = val_loss
            self.count = 0
        else:
            self.count += 1
        return self.count >= self.patience


stopper = EarlyStopping()
stopper.best = torch.tensor(1.0)
f = stopper.__call__


def args():
    return (torch.tensor(0.5),)
