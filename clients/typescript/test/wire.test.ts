import assert from "node:assert/strict";
import { test } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  CaseErrorCode,
  type CheckRequest,
  CheckRequestSchema,
  CheckResponseSchema,
} from "../src/gen/retrial/checker/v1/checker_pb.js";
import { Results, readRequest } from "../src/wire.js";

const requests: Record<string, CheckRequest> = {
  empty: create(CheckRequestSchema),
  "an opening": create(CheckRequestSchema, { open: {} }),
  parameters: create(CheckRequestSchema, {
    open: { parameters: { a: Buffer.from("1"), é: Buffer.from(""), "": Buffer.from("x") } },
  }),
  cases: create(CheckRequestSchema, {
    cases: [
      { caseId: 1n, input: Buffer.from("{}") },
      {
        caseId: 2n ** 64n - 1n,
        input: Buffer.alloc(300, "x"),
        stubs: [
          { call: "a", value: Buffer.from("1") },
          { call: "é", value: Buffer.alloc(70_000) },
        ],
      },
      {},
    ],
  }),
};

/** Reads a varint as the generated code does. */
const idOf = (varint: Uint8Array) =>
  fromBinary(CheckResponseSchema, Buffer.from([0x0a, 1 + varint.length, 0x08, ...varint])).results[0]?.caseId;

test("requests are read as the generated code writes them", () => {
  for (const [name, message] of Object.entries(requests)) {
    const { open, cases } = readRequest(toBinary(CheckRequestSchema, message));
    assert.deepEqual(
      open && new Map([...open].map(([k, v]) => [k, Buffer.from(v)])),
      message.open && new Map(Object.entries(message.open.parameters).map(([k, v]) => [k, Buffer.from(v)])),
      name,
    );
    assert.deepEqual(
      cases.map((c) => [idOf(c.id), Buffer.from(c.input), c.stubs.map((s) => [s.call, Buffer.from(s.value)])]),
      message.cases.map((c) => [c.caseId, Buffer.from(c.input), c.stubs.map((s) => [s.call, Buffer.from(s.value)])]),
      name,
    );
  }
});

test("fields of a later contract are passed over, and what is cut is no message", () => {
  const whole = Buffer.from(toBinary(CheckRequestSchema, requests.cases as CheckRequest));
  const later = Buffer.from([0x79, 1, 2, 3, 4, 5, 6, 7, 8, 0x7d, 1, 2, 3, 4, 0x78, 0x80, 0x01, 0x82, 0x01, 0x01, 0x00]);
  assert.equal(readRequest(Buffer.concat([later, whole, later])).cases.length, 3);
  for (let end = 0; end < whole.length; end += end < 400 ? 1 : 997) {
    try {
      const n = readRequest(whole.subarray(0, end)).cases.length;
      assert.ok(n < 3 && fromBinary(CheckRequestSchema, whole.subarray(0, end)).cases.length === n);
    } catch (e) {
      assert.match(String(e), /malformed message/);
    }
  }
  for (const bad of [
    [0x0b],
    [0x02, 0x00],
    [0x0a],
    [0x0a, 0x80],
    [0x12, 0x05, 0x08],
    [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
    [0x12, 0x0c, 0x08, ...Array(11).fill(0xff)],
    [0x12, 0x05, 0x1a, 0x03, 0x0a, 0x01, 0xff],
  ]) {
    assert.throws(() => readRequest(Buffer.from(bad)), /malformed message/, bad.join(" "));
  }
});

test("results are written as the generated code reads them", () => {
  const out = new Results();
  const long = "v".repeat(300);
  out.add(Uint8Array.of(1), { outcome: { verdict: "a", reasonCode: "b", output: undefined }, stubsUsed: [] });
  out.add(Uint8Array.of(0x80, 0x80, 0x01), {
    outcome: { verdict: long, reasonCode: "", output: Buffer.alloc(200_000, "o") },
    stubsUsed: ["x", "é".repeat(100)],
  });
  out.add(Uint8Array.of(3), { error: { code: CaseErrorCode.STUB_MISSING, message: "m", call: "c" }, stubsUsed: ["c"] });
  out.add(Uint8Array.of(4), { outcome: { verdict: "a", reasonCode: "b", output: undefined }, stubsUsed: [] });
  const { results } = fromBinary(CheckResponseSchema, out.take());
  assert.deepEqual(
    results.map((r) => [r.caseId, r.answer.case, r.stubsUsed]),
    [
      [1n, "outcome", []],
      [16384n, "outcome", ["x", "é".repeat(100)]],
      [3n, "error", ["c"]],
      [4n, "outcome", []],
    ],
  );
  const answers = results.map((r) => r.answer.value);
  assert.deepEqual(
    answers[0],
    create(CheckResponseSchema, {
      results: [{ answer: { case: "outcome", value: { verdict: "a", reasonCode: "b" } } }],
    }).results[0]?.answer.value,
  );
  assert.ok(
    answers[1] !== undefined &&
      "output" in answers[1] &&
      answers[1].verdict === long &&
      answers[1].output.length === 200_000,
  );
  assert.ok(
    answers[2] !== undefined &&
      "code" in answers[2] &&
      answers[2].code === CaseErrorCode.STUB_MISSING &&
      answers[2].message === "m" &&
      answers[2].call === "c",
  );
  assert.equal(out.size, 0);
});
