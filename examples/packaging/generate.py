"""Makes the fixtures: the versions and specifiers that packaging's own tests try together, decided by the release installed here.

    python generate.py packaging-21.3.tar.gz packaging-26.4.tar.gz > fixtures/specifiers.jsonl

The arguments are source distributions of packaging, of which only tests/test_specifiers.py is read, and nothing run.
"""

import ast
import hashlib
import json
import sys
import tarfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from checker import decide

#: When the decisions were recorded: one instant, so that the same input gives the same bytes.
RECORDED_AT = "2026-11-30T00:00:00Z"
SPECIFIER_NAMES = {"spec", "spec_str", "specifier"}


def pairs(source: str) -> Iterator[tuple[str, str, int]]:
    """Gives version, specifier and line of each tuple below a parametrize that names both."""
    for call in ast.walk(ast.parse(source)):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "parametrize"):
            continue
        names = argument_names(call.args[0])
        specifiers = SPECIFIER_NAMES & set(names)
        if "version" not in names or len(specifiers) != 1:
            continue
        at_version, at_specifier = names.index("version"), names.index(specifiers.pop())
        for row in ast.walk(call.args[1]):
            if isinstance(row, ast.Tuple) and len(row.elts) > max(at_version, at_specifier):
                given, wanted = row.elts[at_version], row.elts[at_specifier]
                if is_text(given) and is_text(wanted):
                    yield ast.literal_eval(given), ast.literal_eval(wanted), row.lineno


def argument_names(node: ast.expr) -> list[str]:
    """Reads both spellings: "version, spec" and ("version", "spec")."""
    value = ast.literal_eval(node)
    return [name.strip() for name in value.split(",")] if isinstance(value, str) else list(value)


def is_text(node: ast.expr) -> bool:
    """Leaves out what is computed: a version of f"1.{n}" is none that can be read here."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_file(archive: Path) -> str:
    """Reads the one file, without unpacking the archive."""
    name = archive.name.removesuffix(".tar.gz")
    with tarfile.open(archive) as tar:
        member = tar.extractfile(f"{name}/tests/test_specifiers.py")
        if member is None:
            raise SystemExit(f"{archive}: tests/test_specifiers.py is no file")
        return member.read().decode()


def main(archives: list[Path]) -> None:
    """Prints a fixture for each pair, in the order of specifier and version."""
    rows: dict[tuple[str, str], tuple[str, int]] = {}
    for archive in archives:
        release = archive.name.removesuffix(".tar.gz")
        for given, wanted, line in pairs(test_file(archive)):
            rows.setdefault((wanted, given), (release, line))  # of the first archive that has it
    for (wanted, given), (release, line) in sorted(rows.items()):
        decision = {"version": given, "specifier": wanted}
        outcome = decide(decide.case(decision))
        row = {
            "fixture_id": "spec-" + hashlib.sha256(f"{wanted}\0{given}".encode()).hexdigest()[:10],
            "source_row_id": f"{release}/tests/test_specifiers.py#L{line}",
            "verdict": outcome.verdict,
            "reason_code": outcome.reason_code,
            "decided_at": RECORDED_AT,
            "input": decision,
            "provenance": {
                "source": release,
                "path": "tests/test_specifiers.py",
                "license": "Apache-2.0 OR BSD-2-Clause",
                "recorded_by": f"packaging {version('packaging')}",
            },
        }
        sys.stdout.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
