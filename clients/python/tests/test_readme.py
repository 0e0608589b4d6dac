"""The README is followed to the letter, but for what it installs."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from processes import ENVIRONMENT

README = (Path(__file__).parents[1] / "README.md").read_text()
SAMPLES = re.findall(r"`([\w./]+)`:\n\n```\w+\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_from_an_empty_folder_to_a_ruling(retrial: Path, tmp_path: Path) -> None:
    assert [name for name, _ in SAMPLES] == ["checker.py", "fixtures/decisions.jsonl", "retrial.yaml"]
    for name, text in SAMPLES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    (console,) = re.findall(r"^```console\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    steps = re.findall(r"^\$ retrial (.*)\n(.*)\n", console, re.MULTILINE)
    assert len(steps) == 2
    for arguments, said in steps:
        command = [str(retrial), *shlex.split(arguments)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        assert done.stdout == f"{said}\n", done.stderr
        assert done.returncode == (0 if "passed" in said else 1)


def test_the_unit_test_is_one(tmp_path: Path) -> None:
    (tmp_path / "checker.py").write_text(dict(SAMPLES)["checker.py"])
    (example,) = (block for block in BLOCKS if "def test_" in block)
    (tmp_path / "test_checker.py").write_text(example)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_checker.py"]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


def test_the_code_for_a_client_has_the_right_types(tmp_path: Path) -> None:
    (example,) = (block for block in BLOCKS if "retrial.client" in block)
    (tmp_path / "ask.py").write_text(f'token = "t"\n{example}')
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "ask.py"]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout
