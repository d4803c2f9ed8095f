"""A terminal with a program on it, to type at and to read from."""
import fcntl
import os
import pty
import select
import struct
import termios
import time

from harness import descendants, shell_code


class Terminal:
    """The program is the leader of a session with this terminal, as a login shell is."""

    def __init__(self, command, env=None, columns=100):
        self.output = ""
        self.status = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                os.execvpe(str(command[0]), [str(c) for c in command], env or dict(os.environ))
            finally:
                os._exit(127)
        self.resize(columns)

    def resize(self, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))

    def type(self, text):
        os.write(self.fd, text.encode())

    def _read(self, seconds):
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return True
        try:
            more = os.read(self.fd, 65536)
        except OSError:  # the other side is closed
            more = b""
        self.output += more.decode(errors="replace")
        return bool(more)

    def wait_for(self, text, timeout=30):
        """Reads until the text has come; returns all that came before it, and forgets up to its end."""
        end = time.monotonic() + timeout
        while text not in self.output:
            if time.monotonic() > end or not self._read(0.2):
                raise AssertionError(f"{text!r} did not come; the terminal shows:\n{self.output[-3000:]}")
        before, _, self.output = self.output.partition(text)
        return before

    def finish(self, timeout=30):
        """Waits for the end of the program; returns its exit code, or 128 + its signal."""
        end = time.monotonic() + timeout
        while self.status is None:
            if time.monotonic() > end:
                raise AssertionError(f"it did not end; the terminal shows:\n{self.output[-3000:]}")
            self._read(0.1)
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self.status = status
        while self._read(0.1) and select.select([self.fd], [], [], 0)[0]:
            pass
        return shell_code(os.waitstatus_to_exitcode(self.status))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.status is None:
            for pid in descendants(self.pid):
                try:
                    os.kill(pid, 9)
                except ProcessLookupError:
                    pass
            os.waitpid(self.pid, 0)
        os.close(self.fd)
