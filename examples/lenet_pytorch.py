#!/usr/bin/env python3
"""Trains LeNet-5 on handwritten digits with PyTorch, on the CPU.

    python digits.py && python lenet_pytorch.py

The last line it prints is made for scripts: steps=N median_ms=X p99_ms=Y accuracy=Z
"""

import argparse
import math
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

DEFAULT_DATA = Path(__file__).resolve().parent / "data"
MEAN, DEVIATION = 0.1307, 0.3081  # of MNIST's pixels, as is the custom


class LeNet5(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2))
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Linear(16 * 5 * 5, 120), nn.ReLU(),
            nn.Linear(120, 84), nn.ReLU(),
            nn.Linear(84, classes))

    def forward(self, images):
        return self.classifier(self.features(images))


class Digits(Dataset):
    """The idx files of one part of the data, "train" or "t10k"."""

    def __init__(self, folder, part):
        images = np.fromfile(folder / f"{part}-images-idx3-ubyte", np.uint8, offset=16)
        self.images = images.reshape(-1, 1, 28, 28)
        self.labels = np.fromfile(folder / f"{part}-labels-idx1-ubyte", np.uint8, offset=8)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = torch.from_numpy(self.images[index]).float().div(255)
        image = functional.interpolate(image[None], (32, 32), mode="bilinear")[0]
        return (image - MEAN) / DEVIATION, int(self.labels[index])


class StepClock:
    """Keeps each step's time: from the end of the one before it to its own end, so that waiting
    for data counts, and starting the workers at the beginning of an epoch as well."""

    def __init__(self, log):
        self.log = log
        self.step_ms = []
        self.last = time.perf_counter()

    def step_end(self):
        now = time.perf_counter()
        self.step_ms.append((now - self.last) * 1e3)
        self.last = now
        if self.log:
            print(f"{now:.6f} {self.step_ms[-1]:.3f}", file=self.log, flush=True)


def train_epoch(network, optimizer, loader, clock, max_steps):
    """One epoch, or less where max_steps is reached. Returns the loss of each step."""
    losses = []
    for images, labels in loader:
        optimizer.zero_grad()
        loss = functional.cross_entropy(network(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        clock.step_end()
        if len(clock.step_ms) == max_steps:
            break
    return losses


def evaluate(network, loader):
    right = total = 0
    network.eval()
    with torch.no_grad():
        for images, labels in loader:
            right += (network(images).argmax(1) == labels).sum().item()
            total += len(labels)
    return right / total


def positive(text):
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, metavar="DIR",
                        help="folder with the digits, made by digits.py (default: %(default)s)")
    parser.add_argument("--epochs", type=positive, metavar="N",
                        help="default: 6, or as many as --steps needs")
    parser.add_argument("--steps", type=positive, metavar="N", help="stop after N steps")
    parser.add_argument("--batch", type=positive, default=32, metavar="N", help="default: 32")
    parser.add_argument("--workers", type=int, default=2, metavar="N",
                        help="processes that load data (default: 2; 0: none)")
    parser.add_argument("--step-log", type=argparse.FileType("w"), metavar="FILE",
                        help="write a line for each step: its end (s, monotonic clock), its time (ms)")
    args = parser.parse_args()
    if not (args.data / "train-images-idx3-ubyte").exists():
        parser.error(f"no digits in {args.data}: run digits.py {args.data} first")
    return args


def main():
    args = arguments()
    torch.manual_seed(1)

    train = DataLoader(Digits(args.data, "train"), args.batch, shuffle=True, drop_last=True,
                       num_workers=args.workers)
    test = DataLoader(Digits(args.data, "t10k"), args.batch, num_workers=args.workers)
    if len(train) == 0:
        sys.exit(f"a batch of {args.batch} is more than all digits together")
    epochs = args.epochs or (math.ceil(args.steps / len(train)) if args.steps else 6)

    network = LeNet5()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    clock = StepClock(args.step_log)
    for epoch in range(1, epochs + 1):
        losses = train_epoch(network, optimizer, train, clock, args.steps)
        print(f"epoch {epoch}/{epochs} loss {statistics.mean(losses):.4f} ({len(losses)} steps)",
              flush=True)
        if len(clock.step_ms) == args.steps:
            break
    accuracy = evaluate(network, test)

    times = sorted(clock.step_ms)
    print(f"steps={len(times)} median_ms={statistics.median(times):.3f}"
          f" p99_ms={times[math.ceil(len(times) * 0.99) - 1]:.3f} accuracy={accuracy:.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
