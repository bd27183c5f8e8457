# breaks: none
# says: to_graph safe-if

import torch


def f(grid):
    n = sum(torch.roll(grid, (dx, dy), (0, 1)) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if (dx, dy) != (0, 0))
    alive = (n == 3) | ((grid == 1) & (n == 2))
    return torch.where(alive, 1, 0)


def args():
    return (torch.randint(0, 2, (6, 6)),)
