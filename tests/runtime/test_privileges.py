"""The job is the caller's: their user, their environment, their capabilities and no more."""
import os
import pwd
import shutil
from pathlib import Path

import pytest

from harness import JOBSCOPE, PYTHON, Report, assert_identity, finish, start
from machine import needs

NOBODY = pwd.getpwnam("nobody")
AS_NOBODY = ["setpriv", f"--reuid={NOBODY.pw_uid}", f"--regid={NOBODY.pw_gid}", "--init-groups",
             "--inh-caps=-all", "--ambient-caps=-all"]
CAPABILITIES = "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search"

# Who am I, what may I do, what do I see: as the job would print it without us.
SEE = """
import os, re
print(os.getresuid(), os.getresgid(), os.getgroups(), os.getcwd())
print(sorted(item for item in os.environ.items() if item[0] not in ("_", "SHLVL")))
print(re.findall(r"^(?:Cap(?:Inh|Prm|Eff|Amb)|NoNewPrivs):.*$", open("/proc/self/status").read(), re.M))
"""


@pytest.fixture
def public(disk_directory):
    """A directory that anybody may use, with a copy of the program that anybody may start."""
    directory = Path(f"{disk_directory}.public")
    directory.mkdir()
    directory.chmod(0o777)
    shutil.copy(JOBSCOPE, directory / "jobscope")
    (directory / "jobscope").chmod(0o755)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def sudo():
    """The start of a command line in whose private view of /etc nobody may use sudo."""
    if not shutil.which("sudo"):
        pytest.skip("sudo is not installed")
    rules = ("mount -t tmpfs -o mode=755 tmpfs /etc/sudoers.d && cd /etc/sudoers.d && "
             "echo 'nobody ALL=(ALL) NOPASSWD: ALL' >test && chmod 440 test && cd / && unset OLDPWD PWD && exec \"$@\"")
    prefix = ["unshare", "--mount", "sh", "-c", rules, "sh"]
    needs(*prefix, *AS_NOBODY, "sudo", "-n", "true", why="sudo does not work here")
    return prefix


CALLERS_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "USER": "nobody",
                       "LANG": "C.UTF-8", "TERM": "dumb", "MARK": "of the caller", "PYTHONPATH": "/nonexistent",
                       "LD_LIBRARY_PATH": "/nonexistent"}


def test_under_sudo_the_job_runs_as_the_caller(sudo, public):
    bare, _ = finish(start([*AS_NOBODY, PYTHON, "-c", SEE], env=CALLERS_ENVIRONMENT, cwd="/"))
    file = public / "report.json"
    command = [*sudo, *AS_NOBODY, "sudo", "-n", JOBSCOPE, "run", "--json", file, "--", PYTHON, "-c", SEE]
    process = start(command, env=CALLERS_ENVIRONMENT, cwd="/")
    out, err = finish(process)
    assert process.returncode == 0, err
    assert out == bare
    assert len(err.splitlines()) > 5
    assert_identity(Report.read(file))


def test_under_sudo_as_root_when_asked(sudo):
    command = [*sudo, *AS_NOBODY, "sudo", "-n", JOBSCOPE, "run", "--as-root", "--", "id", "-u"]
    out, _ = finish(start(command, env=CALLERS_ENVIRONMENT, cwd="/"))
    assert out == "0\n"


def test_under_sudo_the_files_are_the_callers(sudo, public):
    json_file, recording = public / "report.json", public / "r.jobscope"
    command = [*sudo, *AS_NOBODY, "sudo", "-n", JOBSCOPE, "run", "--json", json_file, "-o", recording, "--", "true"]
    finish(start(command, env=CALLERS_ENVIRONMENT, cwd="/"))
    assert [os.stat(f).st_uid for f in (json_file, recording)] == [NOBODY.pw_uid] * 2


def test_under_sudo_no_file_of_others_is_overwritten(sudo, public, tmp_path):
    """sudo gives jobscope the right to read the kernel, not the caller's files root's rights."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    victim.chmod(0o600)
    tmp_path.chmod(0o755)
    command = [*sudo, *AS_NOBODY, "sudo", "-n", JOBSCOPE, "run", "--json", victim, "--", "true"]
    process = start(command, env=CALLERS_ENVIRONMENT, cwd="/")
    finish(process)
    assert process.returncode == 125
    assert victim.read_text() == "precious"


def test_file_capabilities(public):
    program, file = public / "jobscope", public / "report.json"
    needs("setcap", f"{CAPABILITIES}=ep", program, why="no file capabilities on this file system")
    bare, _ = finish(start([*AS_NOBODY, PYTHON, "-c", SEE], env=CALLERS_ENVIRONMENT, cwd="/"))
    process = start([*AS_NOBODY, program, "run", "--json", file, "--", PYTHON, "-c", SEE],
                    env=CALLERS_ENVIRONMENT, cwd="/")
    out, err = finish(process)
    assert process.returncode == 0, err
    assert out == bare
    report = Report.read(file)
    assert_identity(report)
    assert report["processes"][0]["exit_code"] == 0


def test_without_privileges_it_says_what_would_help(public):
    program, mark = public / "jobscope", public / "mark"
    process = start([*AS_NOBODY, program, "run", "--", "touch", mark], env=CALLERS_ENVIRONMENT, cwd="/")
    _, err = finish(process)
    assert process.returncode == 125
    assert not mark.exists()
    # A command to copy: with sudo, and the one that gives the file its capabilities.
    assert f"sudo {program} run" in err, err
    assert "setcap" in err and str(program) in err, err


def test_check_without_privileges(public):
    process = start([*AS_NOBODY, public / "jobscope", "check"], env=CALLERS_ENVIRONMENT, cwd="/")
    out, err = finish(process)
    assert "sudo" in out + err


def test_job_of_root_keeps_what_root_has():
    status = ["grep", "-E", "^Cap", "/proc/self/status"]
    bare, _ = finish(start(status))
    out, _ = finish(start([JOBSCOPE, "run", "--", *status]))
    assert out == bare
