"""Known numbers of calls, for the tests of the programs that come with jobscope.

    program_calls.py WHAT [ARGUMENTS]
Prints a line of JSON when it is ready, works when it reads a line, prints a line that says what it did, and ends at
the next line it reads: so a test can attach to the libraries that it has mapped, and ask while it lives.
"""
import ctypes
import gc
import json
import os
import signal
import socket
import sys
import tempfile
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)
FUTEX_WAIT_PRIVATE = 128
SYS_FUTEX = {"x86_64": 202, "aarch64": 98}[os.uname().machine]


def syscalls(count):
    """getpgid, which nobody else calls often."""
    yield
    for _ in range(int(count)):
        libc.getpgid(0)
    yield {"getpgid": int(count)}


class Time(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("ns", ctypes.c_long)]


def futexes(changed, timed_out, interrupted):
    """Waits that end because the value is another one, because time is up, and because of a signal."""
    word = ctypes.c_uint32(7)

    def wait(value, timeout):
        at = ctypes.byref(timeout) if timeout else None
        return libc.syscall(SYS_FUTEX, ctypes.byref(word), FUTEX_WAIT_PRIVATE, value, at, None, 0)

    yield
    for _ in range(int(changed)):
        wait(8, None)
    for _ in range(int(timed_out)):
        wait(7, Time(0, 1_000_000))
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003)
    for _ in range(int(interrupted)):
        wait(7, None)
    signal.setitimer(signal.ITIMER_REAL, 0)
    yield {}


def timers(keepalive, alarm):
    """A timer of each of so many connections, and the interval timer of the process started so many times."""
    server = socket.create_server(("127.0.0.1", 0), backlog=1024)
    ends = []
    for _ in range(int(keepalive)):
        ends += [socket.create_connection(server.getsockname()), server.accept()[0]]
    yield
    for end in ends[::2]:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for _ in range(int(alarm)):
        signal.setitimer(signal.ITIMER_REAL, 3600)
    signal.setitimer(signal.ITIMER_REAL, 0)
    yield {}


def connects(established, refused):
    server = socket.create_server(("127.0.0.1", 0), backlog=1024)
    closed = socket.create_server(("127.0.0.1", 0))
    nobody = closed.getsockname()
    closed.close()
    yield
    for _ in range(int(established)):
        with socket.create_connection(server.getsockname()):
            pass
    errors = 0
    for _ in range(int(refused)):
        try:
            socket.create_connection(nobody)
        except ConnectionRefusedError:
            errors += 1
    yield {"refused": errors}


def ioctls(device, count):
    file, other = os.open(device, os.O_RDONLY), os.open("/dev/null", os.O_RDONLY)
    yield
    for fd in [file] * int(count) + [other] * 101:
        libc.ioctl(fd, ctypes.c_ulong(0x4601), None)  # the driver of /dev/null knows none: an error
    yield {}


def collections(*generations):
    """So many collections of generation 0, 1, 2; each of the last kind has a cycle to free."""
    gc.collect()
    gc.disable()
    yield
    freed = 0
    for generation, count in enumerate(generations):
        for _ in range(int(count)):
            if generation == len(generations) - 1:
                cycle = []
                cycle.append(cycle)
                del cycle
            freed += gc.collect(generation)
    yield {"freed": freed}


def imports(package, count):
    """A package with so many modules, and one that is not there."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / package
        home.mkdir()
        (home / "__init__.py").touch()
        for i in range(int(count)):
            (home / f"m{i}.py").touch()
        sys.path.insert(0, folder)
        yield
        for i in range(int(count)):
            __import__(f"{package}.m{i}")
        try:
            __import__(f"{package}.none")
        except ImportError:
            pass
        yield {}


def cuda(library):
    """Calls of CUDA's runtime with known arguments. Without a device each is an error, and was made all the same."""
    cudart = ctypes.CDLL(library)
    size = ctypes.c_size_t
    block = ctypes.create_string_buffer(64)
    dims = [ctypes.c_uint64(1 | 1 << 32), ctypes.c_uint32(1)]
    yield
    for _ in range(23):
        cudart.cudaLaunchKernel(None, *dims, *dims, None, size(0), None)
    for _ in range(29):
        cudart.cudaMemcpy(block, block, size(10_007), 1)
    for _ in range(31):
        cudart.cudaMemcpyAsync(block, block, size(1009), 2, None)
    for _ in range(7):
        cudart.cudaMalloc(ctypes.byref(ctypes.c_void_p()), size(100_003))
    for _ in range(37):
        cudart.cudaStreamSynchronize(None)
    for _ in range(41):
        cudart.cudaDeviceSynchronize()
    yield {}


def nccl(library):
    """Without a communicator each call is an error, and was made all the same."""
    calls = ctypes.CDLL(library)
    size = ctypes.c_size_t
    kFloat32, kFloat64, kBFloat16, kInt8, kSum = 7, 8, 9, 0, 0
    yield
    for _ in range(23):
        calls.ncclAllReduce(None, None, size(1009), kFloat32, kSum, None, None)
    for _ in range(29):
        calls.ncclAllGather(None, None, size(1009), kBFloat16, None, None)
    for _ in range(31):
        calls.ncclReduceScatter(None, None, size(1009), kFloat64, kSum, None, None)
    for _ in range(37):
        calls.ncclBroadcast(None, None, size(1009), kInt8, 0, None, None)
    for _ in range(41):
        calls.ncclSend(None, size(1009), kFloat32, 1, None, None)
    for _ in range(43):
        calls.ncclRecv(None, size(1009), kFloat64, 1, None, None)
    yield {}


def backward(count):
    import torch
    torch.set_num_threads(1)
    weights = torch.ones(16, 16, requires_grad=True)
    yield
    for _ in range(int(count)):
        (weights @ weights).sum().backward()
    yield {}


def graph_runs(count, batches):
    import mindspore
    import numpy
    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    layer = mindspore.nn.Dense(16, 16)
    data = mindspore.Tensor(numpy.ones((4, 16), numpy.float32))
    layer(data)  # compiles it
    rows = numpy.ones((int(batches), 4), numpy.float32)
    batched = mindspore.dataset.NumpySlicesDataset(rows, shuffle=False).batch(1).create_tuple_iterator()
    yield
    for _ in range(int(count)):
        layer(data).asnumpy()
    seen = sum(1 for _ in batched)
    yield {"batches": seen}


def main():
    what = {f.__name__: f for f in (syscalls, futexes, timers, connects, ioctls, collections, imports, cuda, nccl,
                                    backward, graph_runs)}[sys.argv[1]]
    steps = what(*sys.argv[2:])
    next(steps)
    print(json.dumps({"pid": os.getpid()}), flush=True)
    sys.stdin.readline()
    print(json.dumps(next(steps)), flush=True)
    sys.stdin.readline()


main()
