"""Looks for things in the frames of a camera: a small backbone, two heads on three scales, boxes from anchors."""

import queue
import threading

import torch
import torch.nn as nn
import torch.nn.functional as F


def conv_bn(inp, oup, stride):
    return nn.Sequential(nn.Conv2d(inp, oup, 3, stride, 1, bias=False), nn.BatchNorm2d(oup), nn.ReLU(inplace=True))


def conv_dw(inp, oup, stride):
    return nn.Sequential(
        nn.Conv2d(inp, inp, 3, stride, 1, groups=inp, bias=False),
        nn.BatchNorm2d(inp),
        nn.ReLU(inplace=True),
        nn.Conv2d(inp, oup, 1, 1, 0, bias=False),
        nn.BatchNorm2d(oup),
        nn.ReLU(inplace=True),
    )


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage1 = nn.Sequential(
            conv_bn(3, 16, 2), conv_dw(16, 32, 1), conv_dw(32, 64, 2), conv_dw(64, 64, 1), conv_dw(64, 128, 2)
        )
        self.stage2 = nn.Sequential(conv_dw(128, 128, 1), conv_dw(128, 256, 2))
        self.stage3 = nn.Sequential(conv_dw(256, 256, 1), conv_dw(256, 256, 2))

    def forward(self, x):
        c3 = self.stage1(x)
        c4 = self.stage2(c3)
        c5 = self.stage3(c4)
        return c3, c4, c5


class FPN(nn.Module):
    def __init__(self, channels=(128, 256, 256), out=96):
        super().__init__()
        self.lateral = nn.ModuleList([nn.Conv2d(c, out, 1) for c in channels])
        self.smooth = nn.ModuleList([nn.Conv2d(out, out, 3, padding=1) for _ in channels])

    def forward(self, features):
        maps = [conv(f) for conv, f in zip(self.lateral, features)]
        for i in range(len(maps) - 1, 0, -1):
            maps[i - 1] = maps[i - 1] + F.interpolate(maps[i], size=maps[i - 1].shape[-2:], mode="nearest")
        return [conv(m) for conv, m in zip(self.smooth, maps)]


class Detector(nn.Module):
    def __init__(self, num_classes=20, anchors=3):
        super().__init__()
        self.num_classes = num_classes
        self.backbone = Backbone()
        self.fpn = FPN()
        self.cls_head = nn.Sequential(conv_bn(96, 96, 1), nn.Conv2d(96, anchors * num_classes, 3, padding=1))
        self.box_head = nn.Sequential(conv_bn(96, 96, 1), nn.Conv2d(96, anchors * 4, 3, padding=1))

    def forward(self, images):
        scores, boxes = [], []
        for feature in self.fpn(self.backbone(images)):
            b = feature.shape[0]
            cls = self.cls_head(feature).permute(0, 2, 3, 1).reshape(b, -1, self.num_classes)
            box = self.box_head(feature).permute(0, 2, 3, 1).reshape(b, -1, 4)
            scores.append(cls)
            boxes.append(box)
        return torch.cat(scores, 1).sigmoid(), torch.cat(boxes, 1)


def make_anchors(size, strides=(8, 16, 32), scales=(1.0, 2.0, 4.0)):
    found = []
    for stride in strides:
        n = size // stride
        ys, xs = torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")
        centers = torch.stack([xs, ys], -1).reshape(-1, 1, 2).float() * stride + stride / 2
        sides = torch.tensor(scales).view(1, -1, 1).expand(n * n, -1, 2) * stride
        found.append(torch.cat([centers.expand(-1, len(scales), -1), sides], -1).reshape(-1, 4))
    return torch.cat(found)


def decode(boxes, anchors):
    xy = anchors[:, :2] + boxes[..., :2] * 0.1 * anchors[:, 2:]
    wh = anchors[:, 2:] * torch.exp(boxes[..., 2:] * 0.2)
    return torch.cat([xy - wh / 2, xy + wh / 2], dim=-1)


def box_iou(a, b):
    lt = torch.max(a[:, None, :2], b[None, :, :2])
    rb = torch.min(a[:, None, 2:], b[None, :, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[..., 0] * wh[..., 1]
    area_a = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
    area_b = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    return inter / (area_a[:, None] + area_b[None, :] - inter)


def nms(boxes, scores, threshold=0.5):
    order = scores.argsort(descending=True)
    iou = box_iou(boxes[order], boxes[order])
    keep = []
    alive = torch.ones(len(order), dtype=torch.bool)
    for i in range(len(order)):
        if alive[i]:
            keep.append(order[i].item())
            alive &= iou[i] <= threshold
    return keep


class Camera(threading.Thread):
    def __init__(self, frames, size):
        super().__init__(daemon=True)
        self.frames = frames
        self.size = size

    def run(self):
        while True:
            self.frames.put(torch.rand(1, 3, self.size, self.size))


def main(size=256):
    frames = queue.Queue(maxsize=4)
    Camera(frames, size).start()
    model = Detector()
    model.eval()
    anchors = make_anchors(size)
    while True:
        frame = frames.get()
        with torch.no_grad():
            scores, boxes = model(frame)
        boxes = decode(boxes, anchors)[0]
        best, labels = scores[0].max(-1)
        top = best.topk(50).indices
        keep = nms(boxes[top], best[top])
        print([(labels[top[k]].item(), round(best[top[k]].item(), 2)) for k in keep[:5]])


if __name__ == "__main__":
    main()
