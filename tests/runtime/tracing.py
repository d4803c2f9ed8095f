"""What the tests of `trace` and `io-latency` share: a watch that is surely attached, and its output."""
import json
import signal
from pathlib import Path

import harness

READS = 23


def capabilities(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return next(line for line in status.splitlines() if line.startswith("CapEff"))


class Watch:
    """`jobscope ARGUMENTS`, from when its programs are attached: it gives up capabilities then."""

    def __init__(self, *arguments, **popen):
        self.process = harness.start([harness.JOBSCOPE, *arguments], **popen)

    def __enter__(self):
        mine = capabilities("self")
        try:
            harness.wait_until(lambda: self.process.poll() is not None or capabilities(self.process.pid) != mine,
                               "jobscope to attach")
        except OSError:
            pass
        return self

    def __exit__(self, *_):
        harness.end_tree(self.process)

    def finish(self, interrupt=True, timeout=30):
        """Ends it with Ctrl-C, or waits for it to end by itself."""
        if interrupt:
            self.process.send_signal(signal.SIGINT)
        out, err = harness.finish(self.process, timeout)
        assert self.process.returncode == 0, (self.process.returncode, out[-2000:], err[-2000:])
        return out, err

    def events(self, **how):
        """The JSON objects, without those of losses, and the last of these."""
        out, err = self.finish(**how)
        objects = [json.loads(line) for line in out.splitlines()]
        lost = [o["lost"] for o in objects if o.get("type") == "lost"]
        return [o for o in objects if o.get("type") != "lost"], lost[-1] if lost else {}, err


def run(command):
    """A workload to its end; what it said."""
    process = harness.start(command)
    out, err = harness.finish(process)
    assert process.returncode == 0, err
    return harness.last_json_line(out)


def refuse(*arguments):
    """Bad input: one line that says why, exit code 2."""
    process = harness.start([harness.JOBSCOPE, *arguments])
    out, err = harness.finish(process)
    assert process.returncode == 2, (process.returncode, out, err)
    assert out == "" and err.startswith("jobscope: ") and err.count("\n") == 1, (out, err)
    return err


def made(loop_disk):
    """A file of 16 MiB on the disk, with nothing left to be written. The same as test_blockio's: a second one would
    leave the disk with room in pieces, and its reads would be split."""
    file = loop_disk.directory / "file"
    file.write_bytes(bytes(16 << 20))
    loop_disk.settle()
    return file
