import json
from decimal import Decimal

import pytest

from retrial.document import Float, encode, parse, typed
from retrial.errors import InputError


def test_integers_are_exact() -> None:
    text = "[9007199254740993,-9223372036854775809,100000000000000000000000000000000000001,-0]"
    assert parse(text.encode()) == [9007199254740993, -9223372036854775809, 10**38 + 1, 0]
    assert all(type(item) is int for item in parse(text.encode()))


def test_an_integer_that_python_refuses_is_a_decimal() -> None:
    literal = "7" * 1_000_000
    found = parse(f"[{literal},1]".encode())
    assert found == [Decimal(literal), 1]
    assert encode(found) == f"[{literal},1]".encode()
    assert typed(found[0], int) is None
    assert typed(found[0], float) is None


@pytest.mark.parametrize("literal", ["1.0", "0.10", "1e300", "6E-1", "-0.0", "0.99999999999999999999", "1e-400"])
def test_other_numbers_keep_their_literal(literal: str) -> None:
    found = parse(literal.encode())
    assert isinstance(found, Float)
    assert found == float(literal)
    assert found.literal == literal
    assert found.decimal == Decimal(literal)
    assert encode({"n": [found]}) == f'{{"n":[{literal}]}}'.encode()


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"1e400", b"-1e999", b"NaN", b"[Infinity]", b'{"a":1}x', b"\xff", b'"a', b"[" * 200_000, b"7" * 5000 + b"x", b"01"],
)
def test_what_is_no_document_is_an_input_error(raw: bytes) -> None:
    with pytest.raises(InputError):
        parse(raw)


def test_text_is_what_was_written() -> None:
    for text in ("a\0b", "e\u0301", "\u00e9", "\U0001f9e0", "\u2028", "\uffff", "\x7f"):
        assert parse(json.dumps(text).encode()) == text
        assert parse(encode(text)) == text
    assert parse(b'{"e\xcc\x81":1,"\xc3\xa9":2}') == {"e\u0301": 1, "\u00e9": 2}


def test_as_deep_as_a_host_lets_it_be() -> None:
    raw = b'{"a":[' * 64 + b"1" + b"]}" * 64
    assert encode(parse(raw)) == raw


@pytest.mark.parametrize("value", [{1: 2}, {"a": object()}, float("nan"), [float("inf")], Decimal("NaN"), {"a": b"x"}, "\ud800"])
def test_what_is_no_json_is_not_written(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        encode(value)


@pytest.mark.parametrize(
    ("text", "kind", "want"),
    [
        ("7", int, 7),
        ("7", float, 7.0),
        ("0.5", float, 0.5),
        ("1.0", int, None),
        ("true", int, None),
        ("true", float, None),
        ("1", bool, None),
        ("1" + "0" * 400, float, None),
        ('"x"', str, "x"),
        ("[]", list, []),
        ("{}", dict, {}),
        ("{}", list, None),
    ],
)
def test_typed(text: str, kind: type, want: object) -> None:
    assert typed(parse(text.encode()), kind) == want
