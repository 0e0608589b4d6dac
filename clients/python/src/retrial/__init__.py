"""Checkers for Retrial, and a client of its service (retrial.client).

A checker is a function:

    from retrial import Case, Outcome, Parameter, checker, serve

    @checker(name="staleness", version="1.4.0", parameters=[Parameter("max_age_days", 30)])
    def decide(case: Case) -> Outcome:
        if case.member(int, "age_days_at_decision") > case.parameters.integer("max_age_days"):
            return Outcome("dropped", "stale")
        return Outcome("promoted", "fresh")

    if __name__ == "__main__":
        serve(decide)

serve finds out by itself whether the process was launched by Retrial, should listen at an address, or should attach to a server.
Batches, ordering, exceptions and missing stubs are its affair.
"""

from .case import Case, Outcome
from .definition import Checker, checker
from .document import Float
from .errors import InputError, MissingMemberError, StubMissingError
from .parameter import Parameter, Parameters
from .serving import logger, serve

__all__ = [
    "Case",
    "Checker",
    "Float",
    "InputError",
    "MissingMemberError",
    "Outcome",
    "Parameter",
    "Parameters",
    "StubMissingError",
    "checker",
    "logger",
    "serve",
]
