"""docs/programs.md, "One in five minutes": its steps as they are written."""
import os
import re
import subprocess

from harness import JOBSCOPE, PYTHON, ROOT, finish, start
from programs import Programs


def blocks(kind=""):
    guide = (ROOT / "docs" / "programs.md").read_text().split("## The configuration")[0]
    found = re.findall(r"^```(\w*)\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    return [text for its_kind, text in found if its_kind == kind]


def commands():
    return [line[2:] for block in blocks() for line in block.splitlines() if line.startswith("$ ")]


def test_one_in_five_minutes(tmp_path):
    def shell(line):
        return subprocess.run(["sh", "-c", line], cwd=tmp_path, env=env, capture_output=True, text=True)

    def asked(line, exporter):
        """What a line of the guide prints that asks at the usual port, where another jobscope may be."""
        return shell(line.replace("localhost:9435", exporter.address)).stdout

    env = {**os.environ, "PATH": f"{JOBSCOPE.parent}:{os.environ['PATH']}"}
    new, serve, opened, ask, job, ask_job, check = commands()
    assert "jobscope programs --config.dir . --config.names opens" in shell(new).stdout
    assert serve == "jobscope programs --config.dir . --config.names opens"
    with Programs("opens", folder=tmp_path) as exporter:
        shell(opened)
        assert re.search(r'^ebpf_exporter_opens_total\{comm="cat"\} \d+$', asked(ask, exporter), re.MULTILINE)
    changes, = blocks("diff")
    patched = subprocess.run(["patch", "-p0"], input=changes, cwd=tmp_path, capture_output=True, text=True)
    assert patched.returncode == 0 and "fuzz" not in patched.stdout, patched.stdout
    with Programs("opens", folder=tmp_path) as exporter:
        assert PYTHON in job and shell(job).returncode == 0
        opens = re.search(r'^ebpf_exporter_opens_total\{comm="python3",job="demo",user="\w+",role="",index="",'
                          r'instance="\d+-\d+"\} (\d+)$', asked(ask_job, exporter), re.MULTILINE)
        assert int(opens[1]) >= 1000
    config = tmp_path / "opens.yaml"
    wrong = config.read_text().replace("  labels:\n        - name: comm\n", "  labels:\n        - name: command\n", 1)
    config.write_text(wrong)
    process = start(["sh", "-c", check], cwd=tmp_path, env=env)
    said = re.sub(r"^\S+ \S+ (?=\./opens|--config)", "", finish(process)[1], flags=re.MULTILINE)
    block = next(block for block in blocks() if "--config.strict" in block)
    assert said.splitlines() == block.splitlines()[1:]
    assert process.returncode == 1


def test_names_of_another_folder_are_those_that_come_along(tmp_path):
    subprocess.run([JOBSCOPE, "programs", "new", "opens"], cwd=tmp_path, check=True, capture_output=True)
    with Programs("opens", "exec", folder=tmp_path) as exporter:
        found = {labels["name"] for labels, _ in exporter.scrape().rows("enabled_configs")}
        assert found == {"opens", "exec"}
