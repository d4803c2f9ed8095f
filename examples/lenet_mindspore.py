#!/usr/bin/env python3
"""Trains LeNet-5 on handwritten digits with MindSpore, in graph mode, on the CPU.

    python digits.py && python lenet_mindspore.py

The last line it prints is made for scripts: steps=N median_ms=X p99_ms=Y accuracy=Z
"""

import argparse
import math
import statistics
import sys
import time
from pathlib import Path

import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn
from mindspore.dataset import transforms, vision

DEFAULT_DATA = Path(__file__).resolve().parent / "data"
MEAN, DEVIATION = 0.1307, 0.3081  # of MNIST's pixels, as is the custom


class LeNet5(nn.Cell):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.SequentialCell(
            nn.Conv2d(1, 6, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2),
            nn.Conv2d(6, 16, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2))
        self.classifier = nn.SequentialCell(
            nn.Flatten(),
            nn.Dense(16 * 5 * 5, 120), nn.ReLU(),
            nn.Dense(120, 84), nn.ReLU(),
            nn.Dense(84, classes))

    def construct(self, images):
        return self.classifier(self.features(images))


def digits(folder, usage, batch):
    """The pipeline of one part of the data, "train" or "test"."""
    training = usage == "train"
    data = ds.MnistDataset(str(folder), usage=usage, shuffle=training)
    data = data.map([vision.Resize((32, 32)),
                     vision.Rescale(1 / 255 / DEVIATION, -MEAN / DEVIATION),
                     vision.HWC2CHW()], input_columns="image")
    data = data.map(transforms.TypeCast(ms.int32), input_columns="label")
    return data.batch(batch, drop_remainder=training)


class Progress(ms.Callback):
    """Prints each epoch's loss and keeps each step's time.

    A step lasts from the end of the one before it to its own end, so that waiting for data counts.
    The first one holds the compilation of the graph.
    """

    def __init__(self, max_steps, log):
        super().__init__()
        self.max_steps = max_steps
        self.log = log
        self.step_ms = []
        self.losses = []
        self.last = None

    def on_train_begin(self, run_context):
        self.last = time.perf_counter()

    def on_train_step_end(self, run_context):
        self.losses.append(float(run_context.original_args().net_outputs.asnumpy()))
        now = time.perf_counter()
        self.step_ms.append((now - self.last) * 1e3)
        self.last = now
        if self.log:
            print(f"{now:.6f} {self.step_ms[-1]:.3f}", file=self.log, flush=True)
        if len(self.step_ms) == self.max_steps:
            run_context.request_stop()

    def on_train_epoch_end(self, run_context):
        args = run_context.original_args()
        print(f"epoch {args.cur_epoch_num}/{args.epoch_num}"
              f" loss {statistics.mean(self.losses):.4f} ({len(self.losses)} steps)", flush=True)
        self.losses.clear()


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
    parser.add_argument("--step-log", type=argparse.FileType("w"), metavar="FILE",
                        help="write a line for each step: its end (s, monotonic clock), its time (ms)")
    args = parser.parse_args()
    if not (args.data / "train-images-idx3-ubyte").exists():
        parser.error(f"no digits in {args.data}: run digits.py {args.data} first")
    return args


def main():
    args = arguments()
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_device("CPU")
    ms.set_seed(1)

    train = digits(args.data, "train", args.batch)
    steps_per_epoch = train.get_dataset_size()
    if steps_per_epoch == 0:
        sys.exit(f"a batch of {args.batch} is more than all digits together")
    epochs = args.epochs or (math.ceil(args.steps / steps_per_epoch) if args.steps else 6)

    network = LeNet5()
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(network.trainable_params(), learning_rate=0.01, momentum=0.9)
    model = ms.Model(network, loss, optimizer, metrics={"accuracy"})

    progress = Progress(args.steps, args.step_log)
    model.train(epochs, train, callbacks=[progress], dataset_sink_mode=False)
    accuracy = model.eval(digits(args.data, "test", args.batch),
                          dataset_sink_mode=False)["accuracy"]

    times = sorted(progress.step_ms)
    print(f"steps={len(times)} median_ms={statistics.median(times):.3f}"
          f" p99_ms={times[math.ceil(len(times) * 0.99) - 1]:.3f} accuracy={accuracy:.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
