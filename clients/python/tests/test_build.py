import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from retrial.build import digest_of

SCRIPT = """\
import sys
sys.dont_write_bytecode = True
import rules
from retrial.build import digest_of
def decide(case): ...
print(digest_of(decide))
"""


def digest(directory: Path, script: str = SCRIPT, rules: str = "LIMIT = 30") -> str:
    (directory / "checker.py").write_text(script)
    (directory / "rules.py").write_text(rules)
    (directory / "notes.py").write_text("never loaded")
    found = subprocess.run([sys.executable, "checker.py"], cwd=directory, capture_output=True, text=True, check=True)
    return found.stdout.strip()


def test_the_digest_is_that_of_the_source_that_is_loaded(tmp_path: Path) -> None:
    first = digest(tmp_path)
    assert first.startswith("sha256:")
    assert len(first) == 71
    assert digest(tmp_path) == first
    (tmp_path / "other").mkdir()
    assert digest(tmp_path / "other") == first, "it is the same wherever it lies"
    assert digest(tmp_path, rules="LIMIT = 14") != first
    assert digest(tmp_path, script=SCRIPT + "# changed") != first


def test_without_source_there_is_none() -> None:
    assert digest_of(len) == ""
    scope: dict[str, object] = {}
    exec("def decide(case): ...", scope)
    assert digest_of(scope["decide"]) == ""  # type: ignore[arg-type]


def test_of_a_package_it_is_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "acme"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "rules.py").write_text("def decide(case): ...")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = digest_of(importlib.import_module("acme.rules").decide)
    (package / "__init__.py").write_text("# changed")
    assert digest_of(importlib.import_module("acme.rules").decide) != before
