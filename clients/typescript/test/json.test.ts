import assert from "node:assert/strict";
import { test } from "node:test";
import { type Jsonable, JsonNumber, type JsonObject, parse, stringify } from "@retrial/sdk";

test("every literal survives, and is a number only where that has the same literal", () => {
  for (const literal of [
    "0",
    "12",
    "-7",
    "0.6",
    "-1.5",
    "1e+21",
    "9007199254740992",
    "123456789012345680000",
    "5e-324",
  ]) {
    assert.equal(typeof parse(literal), "number", literal);
    assert.equal(stringify(parse(literal)), literal);
  }
  for (const literal of [
    "-0",
    "1.0",
    "1e0",
    "1E5",
    "9007199254740993",
    "0.60000000000000001",
    "1e-400",
    "100000000000000000000000000000000000000",
  ]) {
    assert.ok(parse(literal) instanceof JsonNumber, literal);
    assert.equal(stringify(parse(literal)), literal);
  }
});

test("a JsonNumber compares by its value, and loses it nowhere", () => {
  const big = parse("9007199254740993") as JsonNumber;
  assert.ok((big as unknown as number) > 9007199254740992 && (big as unknown as bigint) < 9007199254740994n);
  assert.ok((parse("1.0") as unknown as number) >= 1 && (parse("1.0") as unknown as number) <= 1);
  assert.equal(big.toBigInt(), 9007199254740993n);
  assert.equal(new JsonNumber("1e2").toNumber(), 100);
  assert.equal(`${big}`, "9007199254740993");
  assert.throws(() => new JsonNumber("1.0").toBigInt(), RangeError);
  assert.throws(() => new JsonNumber("1e400").toNumber(), RangeError);
  assert.throws(() => new JsonNumber("01"), TypeError);
  assert.throws(() => JSON.stringify({ big }), /use stringify/);
});

test("documents are what JSON.parse makes of them", () => {
  const documents = [
    "null",
    "true",
    "false",
    '""',
    "[]",
    "{}",
    " [ 1 , 2 ] ",
    '{"a":{"b":[null,{"c":"d"}]},"e":-1.5}',
    '"\\u0000\\n\\"\\\\\\/\\ud83e\\udde0 \u2028 é"',
    '{"":{"":""}}',
    "\t\r\n7\n",
  ];
  for (const text of documents) {
    assert.deepEqual(plain(parse(text)), JSON.parse(text), text);
    assert.deepEqual(parse(stringify(parse(text))), parse(text), text);
  }
});

/** Gives objects their usual prototype. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(plain);
  }
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([k, v]) => [k, plain(v)]))
    : value;
}

test("what JSON.parse refuses is refused, and what loses something as well", () => {
  const refusedByBoth = [
    "",
    " ",
    "tru",
    "nulll",
    "01",
    "-",
    "+1",
    ".5",
    "1.",
    "1e",
    "1e+",
    "0x1",
    "NaN",
    "Infinity",
    "'a'",
    '"',
    '"a',
    '"\\"',
    '"\\x"',
    '"\\u12"',
    '"\n"',
    '"\u0000"',
    "[",
    "[1",
    "[1,",
    "[1,]",
    "[,]",
    "[1 2]",
    "{",
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1,',
    '{"a":1,}',
    "{a:1}",
    '{"a" 1}',
    "{1:1}",
    "1 2",
    "[]]",
    "\ufeff1",
    "\u00a01",
  ];
  for (const text of refusedByBoth) {
    assert.throws(() => JSON.parse(text), SyntaxError, text);
    assert.throws(() => parse(text), SyntaxError, text);
  }
  for (const text of [
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":1}',
    '"\\ud800"',
    '"\ud800"',
    '{"\\udfff":1}',
    "1e400",
    "-1.5e999",
    `${"[".repeat(129)}${"]".repeat(129)}`,
  ]) {
    assert.throws(() => parse(text), SyntaxError, text);
  }
  assert.ok(parse(`${"[".repeat(128)}${"]".repeat(128)}`));
  assert.ok(parse("1".repeat(400)) instanceof JsonNumber);
});

test("names are names: __proto__, constructor, toString", () => {
  const value = parse('{"__proto__":{"a":1},"constructor":2,"hasOwnProperty":3}') as JsonObject;
  assert.deepEqual(Object.keys(value), ["__proto__", "constructor", "hasOwnProperty"]);
  assert.equal((Object.values(value)[0] as JsonObject).a, 1);
  assert.equal(value.toString, undefined);
  assert.equal(({} as Record<string, unknown>).a, undefined);
  assert.equal(stringify(value), '{"__proto__":{"a":1},"constructor":2,"hasOwnProperty":3}');
});

test("stringify writes what has a place in a document, and nothing else", () => {
  assert.equal(
    stringify({ a: 1n, b: undefined, c: [1.5, new JsonNumber("2.0")], d: null, e: "é\u0001" }),
    '{"a":1,"c":[1.5,2.0],"d":null,"e":"é\\u0001"}',
  );
  const refused: unknown[] = [
    Number.NaN,
    Number.POSITIVE_INFINITY,
    undefined,
    [undefined],
    () => 1,
    Symbol("x"),
    new Date(0),
    new Map(),
    "\ud800",
    { "\ud800": 1 },
  ];
  for (const value of refused) {
    assert.throws(() => stringify(value as Jsonable), TypeError);
  }
});
