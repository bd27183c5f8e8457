# breaks: none
# says: to_graph safe

import torch


class Cache:
    def __init__(self):
        self.k = []
        self.v = []

    def update(self, k, v, layer):
        if len(self.k) <= layer:
            self.k.append(k)
            self.v.append(v)
        else:
            self.k[layer] = torch.cat([self.k[layer], k], dim=-2)
            self.v[layer] = torch.cat([self.v[layer], v], dim=-2)
        return self.k[layer], self.v[layer]


cache = Cache()


def f(k, v):
    k, v = cache.update(k, v, 0)
    return k.sum() + v.sum()


def args():
    return torch.randn(1, 2, 3, 4), torch.randn(1, 2, 3, 4)


if __name__ == "__main__":
    f(*args())
