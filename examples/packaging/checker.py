"""Whether a version satisfies a requirement, by the library packaging in the version that is installed.

    satisfied    final              the version is in the range
    satisfied    prerelease         it is, and it is a pre-release
    unsatisfied  out_of_range       it is not, pre-releases included
    unsatisfied  prerelease         it is in the range, but as a pre-release it is not taken
    rejected     invalid_specifier  the requirement cannot be read

A version that cannot be read is in no range, by either release of the library.
"""

import hashlib
from importlib.metadata import distribution, version
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from retrial import Case, Outcome, checker, serve


def _build_digest() -> str:
    """Of this file and of the installed packaging: its RECORD has the digests of all its files."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    digest.update((distribution("packaging").read_text("RECORD") or "").encode())
    return f"sha256:{digest.hexdigest()}"


@checker(
    name="packaging",
    version=version("packaging"),
    verdicts=["satisfied", "unsatisfied", "rejected"],
    reason_codes=["final", "prerelease", "out_of_range", "invalid_specifier"],
    build_digest=_build_digest(),
)
def decide(case: Case) -> Outcome:
    """Any other exception of the library is an error of the case: no verdict, and the run stops."""
    given, wanted = case.member(str, "version"), case.member(str, "specifier")
    try:
        specifiers = SpecifierSet(wanted)
    except InvalidSpecifier:
        return Outcome("rejected", "invalid_specifier")
    if specifiers.contains(given):
        return Outcome("satisfied", "prerelease" if _is_prerelease(given) else "final")
    # The library says no more than no: whether that is for the pre-release alone is asked besides.
    in_range = specifiers.contains(given, prereleases=True)
    return Outcome("unsatisfied", "prerelease" if in_range else "out_of_range")


def _is_prerelease(given: str) -> bool:
    try:
        return Version(given).is_prerelease
    except InvalidVersion:
        return False  # `===` compares any text, which then is no version of a kind


if __name__ == "__main__":
    serve(decide)
