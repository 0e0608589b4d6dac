import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(HERE.parent / "examples")]


@pytest.fixture
def short() -> Iterator[Path]:
    """A directory whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="r-") as directory:
        yield Path(directory)


@pytest.fixture(scope="session")
def retrial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program: that of RETRIAL_BINARY, or else it is built."""
    if given := os.environ.get("RETRIAL_BINARY"):
        return Path(given).resolve(strict=True)
    built = tmp_path_factory.mktemp("bin") / "retrial"
    subprocess.run(["go", "build", "-o", str(built), "."], cwd=ROOT, check=True)
    return built
