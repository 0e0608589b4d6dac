"""Tells builds of a checker apart."""

import hashlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def digest_of(function: Callable[..., Any]) -> str:
    """SHA-256 over the checker's own source files: those of the modules that are loaded from where its own lies. Empty without source.

    Installed packages are not in it, nor what is imported later.
    """
    try:
        source = Path(inspect.getsourcefile(inspect.unwrap(function)) or "").resolve(strict=True)
        if not source.is_file():
            return ""
        root = _root(source)
        own = {file.relative_to(root).as_posix(): file for file in {source, *_loaded()} if file.is_relative_to(root)}
        total = hashlib.sha256()
        for name, file in sorted(own.items()):
            total.update(f"{hashlib.sha256(file.read_bytes()).hexdigest()} {name}\n".encode())
    except (OSError, TypeError):
        return ""
    return f"sha256:{total.hexdigest()}"


def _root(source: Path) -> Path:
    """The directory of a script, or that of the outermost package which a module lies in."""
    root = source.parent
    while (root / "__init__.py").exists():
        root = root.parent
    return root


def _loaded() -> set[Path]:
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    paths = (Path(file).resolve() for file in files if file and file.endswith(".py"))
    return {path for path in paths if not {"site-packages", "dist-packages"} & set(path.parts)}
