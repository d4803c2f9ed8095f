#!/usr/bin/env python3
"""Writes scikit-learn's handwritten digits as the four idx files of MNIST.

    python digits.py [DIR]

The 1797 digits are real (8x8 pixels, 17 grey levels) and come with scikit-learn, so nothing is
downloaded. They are enlarged to MNIST's 28x28, so that all that reads MNIST reads them. The same
bytes are written each time. Files that are already there and whole are left alone; each new file
appears under its name only when it is complete.
"""

import argparse
import os
import struct
import sys
import tempfile
from pathlib import Path

DEFAULT_DIR = Path(__file__).resolve().parent / "data"

SIDE = 28
SCALE = 3  # 8x8 becomes 24x24, and a border of 2 makes it 28x28
BORDER = 2
TOTAL = 1797
# Every 7th digit is for the test. 7 has no common factor with 10, so that no digit is left out
# where they follow each other in order.
TEST_EVERY = 7
TEST = (TOTAL + TEST_EVERY - 1) // TEST_EVERY
TRAIN = TOTAL - TEST

IMAGES_HEADER = struct.Struct(">4i")  # magic, count, rows, columns
LABELS_HEADER = struct.Struct(">2i")  # magic, count
IMAGES_MAGIC = 0x803
LABELS_MAGIC = 0x801


def file_sizes():
    """The files and the size of each when it is whole."""
    sizes = {}
    for part, count in (("train", TRAIN), ("t10k", TEST)):
        sizes[f"{part}-images-idx3-ubyte"] = IMAGES_HEADER.size + count * SIDE * SIDE
        sizes[f"{part}-labels-idx1-ubyte"] = LABELS_HEADER.size + count
    return sizes


def is_whole(path, size):
    return path.is_file() and path.stat().st_size == size


def load_images():
    """All digits as (images, labels): uint8 arrays of 28x28 pixels from 0 to 255, and 0 to 9."""
    import numpy as np
    from sklearn.datasets import load_digits

    digits = load_digits()
    pixels = (digits.images.astype(np.int64) * 255 // 16).astype(np.uint8)
    pixels = pixels.repeat(SCALE, axis=1).repeat(SCALE, axis=2)
    pixels = np.pad(pixels, ((0, 0), (BORDER, BORDER), (BORDER, BORDER)))
    assert pixels.shape == (TOTAL, SIDE, SIDE), pixels.shape
    return pixels, digits.target.astype(np.uint8)


def encode(images, labels):
    """Every file's name and bytes."""
    test = [i for i in range(TOTAL) if i % TEST_EVERY == 0]
    train = [i for i in range(TOTAL) if i % TEST_EVERY != 0]
    files = {}
    for part, chosen in (("train", train), ("t10k", test)):
        header = IMAGES_HEADER.pack(IMAGES_MAGIC, len(chosen), SIDE, SIDE)
        files[f"{part}-images-idx3-ubyte"] = header + images[chosen].tobytes()
        header = LABELS_HEADER.pack(LABELS_MAGIC, len(chosen))
        files[f"{part}-labels-idx1-ubyte"] = header + labels[chosen].tobytes()
    return files


def write_whole(path, data):
    """Writes the file under another name first, so that nobody ever sees half of it."""
    handle, temporary = tempfile.mkstemp(prefix=".writing-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            os.fchmod(out.fileno(), 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def write_digits(folder):
    """Makes the folder hold the four files. Returns the names of those it had to write."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [name for name, size in file_sizes().items() if not is_whole(folder / name, size)]
    if missing:
        files = encode(*load_images())
        for name in missing:
            write_whole(folder / name, files[name])
    return missing


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir", nargs="?", type=Path, default=DEFAULT_DIR,
                        help="where to write them (default: %(default)s)")
    folder = parser.parse_args().dir
    written = write_digits(folder)
    print(f"{folder}: {TRAIN} digits to train on, {TEST} to test, {len(written)} files written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
