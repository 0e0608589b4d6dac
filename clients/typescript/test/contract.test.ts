import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { status } from "@grpc/grpc-js";
import { CaseErrorCode, CheckerService, ParameterType, type Result } from "../src/gen/retrial/checker/v1/checker_pb.js";
import { ask, checkerFile, launch, type Requests } from "./support.js";

const classify = { call: "classify", value: Buffer.from('"fact"') };
const input = (what: string, more = "") => Buffer.from(`{"what":${JSON.stringify(what)}${more}}`);
const open = (parameters: Record<string, string> = {}) => ({
  open: { parameters: Object.fromEntries(Object.entries(parameters).map(([k, v]) => [k, Buffer.from(v)])) },
});

/** Asks one case for each text, all of them in one batch. */
async function answers(t: TestContext, whats: string[]): Promise<Map<string, Result>> {
  const { connection } = await launch(t, checkerFile("odd"));
  const cases = whats.map((what, i) => ({
    caseId: BigInt(i + 1),
    input: input(what, ',"n":9007199254740993'),
    stubs: [classify],
  }));
  const { results, end } = await ask(connection, [open(), { cases }]);
  assert.equal(end.code, status.OK, end.details);
  assert.equal(results.size, whats.length);
  return new Map(whats.map((what, i) => [what, results.get(BigInt(i + 1)) as Result]));
}

function outcome(r: Result | undefined): string[] {
  assert.ok(r?.answer.case === "outcome", JSON.stringify(r?.answer.value));
  return [
    r.answer.value.verdict,
    r.answer.value.reasonCode,
    Buffer.from(r.answer.value.output).toString(),
    ...r.stubsUsed,
  ];
}

test("each case is answered for itself: an error, a rejection or a missing stub ends that case and no other", async (t) => {
  const { INTERNAL, INVALID_INPUT, STUB_MISSING } = CaseErrorCode;
  const errors: Record<string, [CaseErrorCode, RegExp, string?]> = {
    throw: [INTERNAL, /^Error: out of cheese \(at .*odd\.js:\d+/],
    "throw long": [INTERNAL, /^Error: é+$/],
    "throw lone": [INTERNAL, /^Error: \ufffd/],
    "throw nothing": [INTERNAL, /^thrown: undefined$/],
    "throw hostile": [INTERNAL, /^something was thrown that cannot be shown$/],
    "throw later": [INTERNAL, /^TypeError: later/],
    input: [INVALID_INPUT, /^input: member "what" is "input": expected a whole number of at most 53 bits$/],
    refuse: [INVALID_INPUT, /^input: not mine$/],
    "refuse later": [INVALID_INPUT, /^input: not mine$/],
    swallow: [STUB_MISSING, /^no stub for the call "missing"$/, "missing"],
    "swallow later": [STUB_MISSING, /^no stub for the call "missing"$/, "missing"],
    "swallow and throw": [STUB_MISSING, /^no stub for the call "missing"$/, "missing"],
    none: [INTERNAL, /the checker gave no verdict/],
    nothing: [INTERNAL, /the checker gave no verdict/],
    "no text": [INTERNAL, /the checker gave no verdict/],
    "lone verdict": [INTERNAL, /well-formed/],
    "number for a reason": [INTERNAL, /well-formed/],
    "no output": [INTERNAL, /NaN has no place/],
  };
  const good = ["plain", "stub", "stub twice", "bytes", "log", "slow"];
  const got = await answers(t, [...Object.keys(errors), ...good]);
  for (const [what, [code, says, call = ""]] of Object.entries(errors)) {
    const { answer, stubsUsed } = got.get(what) as Result;
    assert.ok(answer.case === "error", `${what}: ${answer.case}`);
    assert.equal(answer.value.code, code, what);
    assert.match(answer.value.message, says, what);
    assert.equal(answer.value.call, call, what);
    assert.ok(Buffer.byteLength(answer.value.message) <= 2048, what);
    assert.deepEqual(stubsUsed, [], what);
  }
  assert.deepEqual(outcome(got.get("plain")), ["a", "3 0.5 1 false w 5", ""]);
  assert.deepEqual(outcome(got.get("stub")), ["a", "fact", '{"x":1,"n":9007199254740993}', "classify"]);
  assert.deepEqual(outcome(got.get("stub twice")), ["a", "factfact", "", "classify"]);
  assert.deepEqual(outcome(got.get("bytes")), ["a", "", '{"x":1.0}']);
});

test("the handle of a case is its id in decimal", async (t) => {
  const { connection } = await launch(t, checkerFile("odd"));
  const ids = [1n, 127n, 128n, 1n << 53n, (1n << 63n) + 9n, (1n << 64n) - 1n];
  const { results } = await ask(connection, [
    open(),
    { cases: ids.map((caseId) => ({ caseId, input: input("handle") })) },
  ]);
  assert.deepEqual(
    ids.map((id) => outcome(results.get(id))[1]),
    ids.map(String),
  );
});

test("parameters keep their types and lose nothing", async (t) => {
  const { connection } = await launch(t, checkerFile("odd"));
  const cases = [{ caseId: 1n, input: input("plain") }];
  const given = {
    limit: "-0",
    ratio: "1e2",
    whole: "2.50",
    strict: "true",
    word: '"\\u00e9"',
    big: "123456789012345678901234567890",
  };
  const { results } = await ask(connection, [open(given), { cases }]);
  assert.deepEqual(outcome(results.get(1n)), ["a", "0 100 2.5 true é 123456789012345678901234567890", ""]);
});

test("a stream that breaks the contract is refused by INVALID_ARGUMENT", async (t) => {
  const { connection } = await launch(t, checkerFile("odd"));
  const one = { cases: [{ caseId: 1n, input: input("plain") }] };
  const broken: Record<string, [Requests, RegExp]> = {
    "no opening": [[one], /must open the stream/],
    "two openings": [[open(), open()], /must carry cases/],
    "an opening with cases": [[{ ...open(), ...one }], /carry no cases/],
    "an empty request": [[open(), {}], /must carry cases/],
    nothing: [[], /before it was opened/],
    "an unknown parameter": [[open({ nope: "1" })], /takes no such parameter/],
    "a text for a number": [[open({ limit: '"x"' })], /"limit": "x" is not a value of it/],
    "a fraction for a whole number": [[open({ limit: "1.0" })], /1\.0 is not a value/],
    "a number beyond 53 bits": [[open({ limit: "9007199254740993" })], /9007199254740993 is not a value/],
    "a number beyond a double": [[open({ ratio: "1e400" })], /1e400 is not a value/],
    "null for a text": [[open({ word: "null" })], /null is not a value/],
    "no JSON": [[open({ strict: "tru" })], /tru is not a value/],
    "no UTF-8": [[{ open: { parameters: { word: Uint8Array.of(0x22, 0xff, 0x22) } } }], /is not a value/],
  };
  for (const [name, [requests, says]] of Object.entries(broken)) {
    const { end, results } = await ask(connection, requests);
    assert.equal(end.code, status.INVALID_ARGUMENT, name);
    assert.match(end.details, says, name);
    assert.equal(results.size, 0, name);
  }
});

test("an input that is no JSON object ends its case as INVALID_INPUT", async (t) => {
  const { connection } = await launch(t, checkerFile("odd"));
  const inputs = [
    "",
    "[]",
    "1.0",
    '"x"',
    "null",
    "{",
    '{"a":1,"a":1}',
    '{"a":"\\ud800"}',
    `${'{"a":['.repeat(70)}1${"]}".repeat(70)}`,
  ].map((s) => Buffer.from(s));
  inputs.push(Buffer.from('{"a":"\xff"}', "latin1"));
  const { results, end } = await ask(connection, [
    open(),
    { cases: inputs.map((b, i) => ({ caseId: BigInt(i + 1), input: b })) },
  ]);
  assert.equal(end.code, status.OK);
  for (const [i, b] of inputs.entries()) {
    const answer = results.get(BigInt(i + 1))?.answer;
    assert.ok(answer?.case === "error" && answer.value.code === CaseErrorCode.INVALID_INPUT, b.toString());
  }
});

test("results are sent while a batch is under way, by their age and by their size", async (t) => {
  const { connection } = await launch(t, checkerFile("odd"));
  const slow = Array.from({ length: 100 }, (_, i) => ({ caseId: BigInt(i + 1), input: input("slow") }));
  const old = await ask(connection, [open(), { cases: slow }]);
  assert.ok(
    old.messages.length >= 5 && old.messages.length < 100,
    `${old.messages.length} messages of results that took 2 ms each`,
  );
  const large = Array.from({ length: 8 }, (_, i) => ({
    caseId: BigInt(i + 1),
    input: input("raw", `,"x":"${"x".repeat(700_000)}"`),
  }));
  const big = await ask(connection, [open(), { cases: large }]);
  assert.equal(big.results.size, 8);
  assert.ok(big.messages.length >= 4, `${big.messages.length} messages of results of 700 kB each`);
});

test("more cases than fit anywhere are answered, in order", async (t) => {
  const { connection } = await launch(t, checkerFile("odd"));
  function* batches(): Requests {
    yield open();
    for (let n = 0; n < 40; n++) {
      yield {
        cases: Array.from({ length: 256 }, (_, i) => ({
          caseId: BigInt(n * 256 + i + 1),
          input: input("raw", `,"x":"${"x".repeat(500)}"`),
        })),
      };
    }
  }
  const { results, end } = await ask(connection, batches());
  assert.equal(end.code, status.OK);
  assert.equal(results.size, 40 * 256);
  assert.deepEqual([...results.keys()].slice(0, 3), [1n, 2n, 3n]);
});

test("a caller that goes away aborts the case's signal, and the checker goes on to serve", async (t) => {
  const { connection, program } = await launch(t, checkerFile("odd"));
  const stream = connection.bidiStream(CheckerService.method.check);
  stream.on("error", () => undefined);
  stream.write({
    $typeName: "retrial.checker.v1.CheckRequest",
    cases: [],
    open: { $typeName: "retrial.checker.v1.Open", parameters: {} },
  });
  stream.write({
    $typeName: "retrial.checker.v1.CheckRequest",
    cases: [{ $typeName: "retrial.checker.v1.Case", caseId: 1n, input: input("wait"), stubs: [] }],
  });
  await program.until("stderr", /waiting/);
  stream.cancel();
  await program.until("stderr", /abandoned/);
  const { results } = await ask(connection, [open(), { cases: [{ caseId: 1n, input: input("plain") }] }]);
  assert.equal(results.size, 1);
});

test("a checker says who it is", async (t) => {
  const { connection } = await launch(t, checkerFile("odd"));
  const d = await connection.unary(CheckerService.method.describe, {});
  assert.deepEqual([d.name, d.version, d.buildDigest, d.contractVersion, d.callsStubs], ["odd", "1", "test", 1, true]);
  const { INTEGER, NUMBER, BOOLEAN, STRING } = ParameterType;
  assert.deepEqual(
    d.parameters.map((p) => [p.name, p.type, Buffer.from(p.defaultJson ?? []).toString(), p.description]),
    [
      ["limit", INTEGER, "3", "a limit"],
      ["ratio", NUMBER, "0.5", ""],
      ["whole", NUMBER, "1", ""],
      ["strict", BOOLEAN, "false", ""],
      ["word", STRING, '"w"', ""],
      ["big", INTEGER, "5", ""],
    ],
  );
});
