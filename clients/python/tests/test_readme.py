"""The README is followed to the letter."""

import os
import re
import subprocess
import sys
from pathlib import Path

from conftest import ROOT
from processes import ENVIRONMENT

README = (Path(__file__).parents[1] / "README.md").read_text()
#: The code blocks: the line before each, its language, the code.
BLOCKS: list[tuple[str, str, str]] = re.findall(r"([^\n]*)\n\n```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"`([\w./]+\.\w+)`")


def python(text: str) -> str:
    """The block of Python with a text in it."""
    (code,) = (code for _, language, code in BLOCKS if language == "python" and text in code)
    return code


class Reader:
    """Somebody who follows the README in a folder of their own."""

    def __init__(self, folder: Path, retrial: Path) -> None:
        self.folder = folder
        programs = folder.with_name(f"{folder.name}-programs")
        programs.mkdir()
        (programs / "retrial").symlink_to(retrial)
        path = os.pathsep.join([str(programs), os.environ["PATH"]])
        self._environment = dict(os.environ) | {"PATH": path, "RETRIAL": str(ROOT)}

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def shell(self, line: str) -> tuple[int, str]:
        """Runs a line, and gives its exit status and stdout."""
        done = subprocess.run(
            line, shell=True, cwd=self.folder, env=self._environment, capture_output=True, text=True, timeout=600, check=False
        )
        print(f"$ {line}\n{done.stdout}{done.stderr}({done.returncode})")
        return done.returncode, done.stdout


def test_from_an_empty_folder_to_the_top_level(retrial: Path, tmp_path: Path) -> None:
    reader = Reader(tmp_path, retrial)
    files, statuses, compared, shown = [], [], 0, ""
    for before, language, code in BLOCKS:
        if (named := NAMED.match(before)) and code:
            reader.write(named[1], code)
            files.append(named[1])
        elif code.startswith("$ "):
            for line in code.splitlines():
                status, shown = reader.shell(line.removeprefix("$ "))
                statuses.append(status)
        elif not language:
            assert shown.endswith(code)
            compared += 1
    assert files == ["checker.py", "trial/retrial.yaml", "trial/fixtures/decisions.jsonl"]
    assert (statuses, compared) == ([0, 0, 0, 1], 1)

    (other,) = re.findall(r"`(retrial run [^`]+)` passes, with status 0", README)
    assert reader.shell(other)[0] == 0
    ((conformance, level),) = re.findall(r"`(retrial conformance [^`]+)`\n[^`]*`(level[^`]+)`", README)
    status, said = reader.shell(conformance)
    assert (status, said.rstrip().endswith(level)) == (0, True)


def test_the_unit_test_is_one(tmp_path: Path) -> None:
    (tmp_path / "checker.py").write_text(python("serve(decide)"))
    (tmp_path / "test_checker.py").write_text(python("def test_"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_checker.py"]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


def test_the_code_for_a_client_has_the_right_types(tmp_path: Path) -> None:
    (tmp_path / "ask.py").write_text(f'token = "t"\n{python("retrial.client")}')
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "ask.py"]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout
