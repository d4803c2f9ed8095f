"""A recording gives every report again, can be asked by sqlite3, and no broken file does any harm."""
import json
import shutil
import sqlite3

import pytest

from harness import JOBSCOPE, environment, finish, part, stable, start, workload


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """(recording, text, JSON) of one run of a job with some of everything."""
    directory = tmp_path_factory.mktemp("recorded")
    recording, text, json_file = directory / "r.jobscope", directory / "r.txt", directory / "r.json"
    storm = workload("spawn_storm", 2, 202, *workload("exit_with"))
    job = ["sh", "-c", f"{' '.join(storm)}; {workload('tcp_wait')[0]}; {workload('futex_pair')[0]}; exit 3"]
    process = start([JOBSCOPE, "run", "-o", recording, "--report", text, "--json", json_file, "--", *job],
                    env=environment(workload_ms=500))
    finish(process)
    assert process.returncode == 3
    return recording, text.read_text(), json.loads(json_file.read_text())


def report(*arguments):
    process = start([JOBSCOPE, "report", *arguments])
    out, err = finish(process)
    return process.returncode, out, err


def test_report_gives_the_same_text(recorded):
    recording, text, _ = recorded
    code, out, err = report(recording)
    assert (code, err) == (0, "")
    assert stable(out) == stable(text)


def test_what_run_printed_is_the_same_too(run, tmp_path):
    result = run(["true"], "-o", tmp_path / "r", report=False)
    assert stable(report(tmp_path / "r")[1]) == stable(result.stderr)


def test_report_gives_the_same_json(recorded):
    recording, _, content = recorded
    code, out, _ = report(recording, "--format", "json")
    assert code == 0
    assert json.loads(out) == content


def test_sqlite3_can_ask_it(recorded):
    recording, _, content = recorded
    database = sqlite3.connect(f"file:{recording}?mode=ro", uri=True)
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    (total,) = database.execute("SELECT sum(ns) FROM thread_parts").fetchone()
    assert total == sum(sum(t["parts"].values()) for t in content["threads"])
    (futex,) = database.execute("SELECT sum(ns) FROM thread_parts WHERE reason = 'futex'").fetchone()
    assert futex == sum(part(t, "futex") for t in content["threads"])
    rows = database.execute("SELECT exit_code, sum(processes) FROM processes WHERE name = 'exit_with' GROUP BY 1")
    assert dict(rows) == {code: 30 if code < 3 else 28 for code in range(7)}
    database.close()


def test_it_is_a_file_of_one_piece(recorded):
    recording = recorded[0]
    assert sorted(p.name for p in recording.parent.iterdir()) == ["r.jobscope", "r.json", "r.txt"]


def test_reading_changes_nothing(recorded, tmp_path):
    copy = tmp_path / "read-only"
    shutil.copy(recorded[0], copy)
    before = copy.read_bytes()
    assert report(copy)[0] == 0
    assert copy.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["read-only"]


def truncated(share):
    return lambda content: content[:int(len(content) * share)]


def flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes(b ^ 0xFF for b in content[middle:middle + 8192]) + content[middle + 8192:]


BROKEN = {
    "empty": lambda content: b"", "a few bytes": lambda content: content[:100],
    "first page": lambda content: content[:4096], "half": truncated(0.5), "nearly all": truncated(0.9),
    "header only": lambda content: content[:16] + bytes(8192), "damaged": flipped,
    "text": lambda content: b"hello, world\n" * 1000, "binary": lambda content: bytes(range(256)) * 64,
}


def assert_refused(path):
    code, out, err = report(path)
    assert (code, out) == (2, "")
    assert len(err.strip().splitlines()) == 1 and str(path) in err, err


@pytest.mark.parametrize("how", BROKEN)
def test_broken_file(recorded, tmp_path, how):
    file = tmp_path / "broken"
    file.write_bytes(BROKEN[how](recorded[0].read_bytes()))
    assert_refused(file)


def test_foreign_database(tmp_path):
    file = tmp_path / "foreign"
    database = sqlite3.connect(file)
    database.execute("CREATE TABLE job(name TEXT)")
    database.commit()
    database.close()
    assert_refused(file)


def test_recording_of_the_future(recorded, tmp_path):
    file = tmp_path / "future"
    shutil.copy(recorded[0], file)
    database = sqlite3.connect(file)
    database.execute("PRAGMA user_version = 999")
    database.commit()
    database.close()
    assert_refused(file)


@pytest.mark.parametrize("path", ["/nonexistent/file", "/", "/dev/null"])
def test_no_file(path):
    assert_refused(path)


@pytest.mark.parametrize("arguments", [[], ["--format", "poem", "{recording}"], ["--no-such-option", "{recording}"]],
                         ids=str)
def test_bad_options(recorded, arguments):
    code, out, err = report(*[recorded[0] if a == "{recording}" else a for a in arguments])
    assert (code, out) == (2, "")
    assert len(err.strip().splitlines()) == 1


def test_interrupted_run_leaves_a_readable_file(tmp_path):
    """jobscope killed in mid-run: what it had written so far can be read, or is refused in one line."""
    recording = tmp_path / "r"
    process = start([JOBSCOPE, "run", "--interval", "100ms", "-o", recording, "--", "sh", "-c", "echo ready; sleep 1"])
    process.stdout.readline()
    process.kill()
    process.communicate()
    code, _, err = report(recording)
    assert code == 0 or (code == 2 and len(err.strip().splitlines()) == 1), err
