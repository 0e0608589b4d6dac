import base64
import gzip
import json
import random
from itertools import groupby
from pathlib import Path
from typing import Any

from contract import ask, asked, cases, opened, served
from promotion import decide

from retrial.gen.checker.v1 import checker_pb2

VECTORS = Path(__file__).parents[2] / "checkers/promotion/testdata/vectors.jsonl.gz"
CODES = {checker_pb2.CASE_ERROR_CODE_INVALID_INPUT: "INVALID_INPUT", checker_pb2.CASE_ERROR_CODE_STUB_MISSING: "STUB_MISSING"}


def read() -> list[dict[str, Any]]:
    with gzip.open(VECTORS, "rt") as lines:
        return [json.loads(line) for line in lines]


def expected(vector: dict[str, Any]) -> dict[str, Any]:
    return {name: vector[name] for name in ("outcome", "error", "stubs_used") if name in vector}


def given(result: checker_pb2.Result) -> dict[str, Any]:
    found: dict[str, Any] = {"stubs_used": list(result.stubs_used)}
    if result.WhichOneof("answer") == "outcome":
        found["outcome"] = {"verdict": result.outcome.verdict, "reason_code": result.outcome.reason_code}
        assert not result.outcome.output
    else:
        found["error"] = {"code": CODES.get(result.error.code, result.error.message)}
        if result.error.call:
            found["error"]["call"] = result.error.call
    return found


def test_every_vector_is_answered_as_the_go_checker_does(short: Path) -> None:
    vectors = read()
    assert len(vectors) == 2200
    chance = random.Random(7)
    wrong, answered = [], 0
    with served(decide, short) as stub:
        by_parameters = sorted(range(len(vectors)), key=lambda i: json.dumps(vectors[i]["parameters"]))
        for _, group in groupby(by_parameters, key=lambda i: json.dumps(vectors[i]["parameters"])):
            order = list(group)
            chance.shuffle(order)
            first = vectors[order[0]]["parameters"]
            requests = [opened(**{name: json.dumps(value).encode() for name, value in first.items()})]
            while order:
                size = chance.randint(1, 300)
                batch, order = order[:size], order[size:]
                requests.append(cases(*(asked(i + 1, base64.b64decode(vectors[i]["input"]), **stubs(vectors[i])) for i in batch)))
            for case_id, result in ask(stub, requests).items():
                vector = vectors[case_id - 1]
                answered += 1
                if given(result) != expected(vector):
                    wrong.append((vector["name"], given(result), expected(vector)))
    assert answered == 2200
    assert wrong == []


def stubs(vector: dict[str, Any]) -> dict[str, bytes]:
    return {stub["call"]: base64.b64decode(stub["value"]) for stub in vector["stubs"]}
