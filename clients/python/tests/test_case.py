import pytest

from retrial import Case, InputError, MissingMemberError, Outcome, Parameter, StubMissingError, checker

RAW = b'{"Age":8,"age":7,"big":9007199254740993,"none":null,"ratio":0.50,"scope":{"user":"u"}}'


@checker(
    name="odd",
    version="1",
    parameters=[Parameter("limit", 3, "a limit"), Parameter("ratio", 0.5), Parameter("strict", False), Parameter("word", "w")],
)
def odd(case: Case) -> Outcome:
    return Outcome("a", str(case.parameters.integer("limit")))


def test_a_member_is_what_it_is_said_to_be() -> None:
    case = odd.case(RAW)
    assert case.member(int, "age") == 7
    assert case.member(int, "big") == 9007199254740993
    assert case.member(float, "age") == 7.0
    assert case.member(str, "scope", "user") == "u"
    assert case.optional(str, "none") is None
    assert case.input["ratio"].literal == "0.50"
    assert case.raw == RAW


@pytest.mark.parametrize(
    ("kind", "path", "says"),
    [
        (int, ("AGE",), "member 'AGE' is missing"),
        (int, ("scope", "x"), "member 'scope.x' is missing"),
        (int, ("age", "x"), "member 'age.x' is missing"),
        (int, ("none",), "member 'none' is null: expected int"),
        (int, ("ratio",), "member 'ratio' is a number: expected int"),
        (bool, ("age",), "member 'age' is a whole number: expected bool"),
    ],
)
def test_a_member_that_is_not_is_named(kind: type, path: tuple[str, ...], says: str) -> None:
    with pytest.raises(InputError, match=says):
        odd.case(RAW).member(kind, *path)


def test_a_missing_member_of_the_input_is_an_input_error_and_a_key_error() -> None:
    case = odd.case({})
    with pytest.raises(MissingMemberError, match="member 'age' is missing"):
        case.input["age"]
    with pytest.raises(KeyError):
        case.input["age"]
    assert case.input.get("age", 1) == 1
    with pytest.raises(MissingMemberError):
        case.optional(int, "age")


@pytest.mark.parametrize("raw", [b"", b"[]", b"7", b"null"])
def test_an_input_that_is_no_object(raw: bytes) -> None:
    with pytest.raises(InputError):
        _ = odd.case(raw).input


def test_stubs() -> None:
    case = odd.case({}, stubs={"kind": "fact", "score": 0.5})
    assert case.stub("score") == 0.5
    assert case.stub("kind") == "fact"
    assert case.stub("score") == 0.5
    assert case.stub_raw("kind") == b'"fact"'
    assert case.stubs_used == ["score", "kind"]
    assert case.stub_missing is None
    with pytest.raises(StubMissingError, match="no stub for the call 'other'"):
        case.stub("other")
    assert case.stub_missing == "other"


def test_parameters() -> None:
    case = odd.case({}, parameters={"limit": 10**20, "ratio": 2, "strict": True, "word": "x"})
    assert dict(case.parameters) == {"limit": 10**20, "ratio": 2.0, "strict": True, "word": "x"}
    assert case.parameters.integer("limit") == 10**20
    assert case.parameters.number("ratio") == 2.0
    assert case.parameters.boolean("strict") is True
    assert case.parameters.string("word") == "x"
    assert odd(case) == Outcome("a", "100000000000000000000")
    for wrong in (case.parameters.integer, case.parameters.string):
        with pytest.raises(LookupError, match="declares no parameter 'strict'"):
            wrong("strict")
    with pytest.raises(KeyError):
        case.parameters["nope"]
    with pytest.raises(ValueError, match="'limit': expected a int, found a number; parameter 'nope': the checker takes no such"):
        odd.case({}, parameters={"limit": 1.5, "nope": 1})


@pytest.mark.parametrize("default", [None, [], 1j, float("nan"), float("inf")])
def test_a_default_that_cannot_be(default: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        Parameter("p", default)  # type: ignore[arg-type]


def test_a_description_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="mandatory"):
        checker(name="", version="1")
    with pytest.raises(ValueError, match="mandatory"):
        checker(name="x", version="")
    with pytest.raises(ValueError, match="two parameters"):
        checker(name="x", version="1", parameters=[Parameter("p", 1), Parameter("p", 2)])
