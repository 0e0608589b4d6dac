import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createGunzip } from "node:zlib";
import { CaseErrorCode, type Result } from "../src/gen/retrial/checker/v1/checker_pb.js";
import { ask, launch, lines, promotion, type Requests, repository } from "./support.js";

/** A line of clients/checkers/promotion/testdata/vectors.jsonl.gz, as clients/checkers/promotion/vectors describes it. */
interface Vector {
  name: string;
  parameters: Record<string, number>;
  input: string;
  stubs: { call: string; value: string }[];
  outcome?: { verdict: string; reason_code: string };
  error?: { code: string; call?: string };
  stubs_used: string[];
}

async function vectors(): Promise<Vector[]> {
  const file = join(repository, "clients/checkers/promotion/testdata/vectors.jsonl.gz");
  const out: Vector[] = [];
  for await (const line of lines(createReadStream(file).pipe(createGunzip()))) {
    out.push(JSON.parse(line) as Vector);
  }
  return out;
}

/** A generator of numbers below n, the same in each run. */
function numbers(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

function shuffled<T>(list: T[], below: (n: number) => number): T[] {
  const out = [...list];
  for (let i = out.length - 1; i > 0; i--) {
    const j = below(i + 1);
    [out[i], out[j]] = [out[j] as T, out[i] as T];
  }
  return out;
}

/** Writes a result as a vector has it. */
function shown({ answer, stubsUsed }: Result): Omit<Vector, "name" | "parameters" | "input" | "stubs"> {
  if (answer.case === "outcome") {
    const { verdict, reasonCode } = answer.value;
    assert.equal(answer.value.output.length, 0);
    return { outcome: { verdict, reason_code: reasonCode }, stubs_used: stubsUsed };
  }
  assert.ok(answer.case === "error" && answer.value.message !== "");
  const { code, call } = answer.value;
  return { error: { code: CaseErrorCode[code], ...(call === "" ? {} : { call }) }, stubs_used: stubsUsed };
}

test("the promotion checker answers all vectors as the Go one does, over gRPC in random batches", async (t) => {
  const { connection } = await launch(t, promotion);
  const byParameters = new Map<string, Vector[]>();
  for (const v of await vectors()) {
    const key = JSON.stringify(v.parameters);
    byParameters.set(key, [...(byParameters.get(key) ?? []), v]);
  }
  let answered = 0;
  for (const group of byParameters.values()) {
    const below = numbers(group.length);
    const list = shuffled(group, below);
    const id = (at: number) => BigInt(at + 1) * 0x9e3779b97f4a7n; // some take nine bytes
    const { results, end } = await ask(connection, requests(list, id, below));
    assert.equal(end.code, 0, end.details);
    for (const [at, v] of list.entries()) {
      const result = results.get(id(at));
      assert.ok(result !== undefined, `${v.name}: no answer`);
      const { outcome, error, stubs_used } = v;
      assert.deepEqual(shown(result), JSON.parse(JSON.stringify({ outcome, error, stubs_used })), v.name);
      answered++;
    }
    assert.equal(results.size, list.length);
  }
  assert.equal(answered, 2200);
  t.diagnostic(`${answered} vectors of ${byParameters.size} sets of parameters`);
});

function* requests(list: Vector[], id: (at: number) => bigint, below: (n: number) => number): Requests {
  const parameters = Object.entries(list[0]?.parameters ?? {});
  yield { open: { parameters: Object.fromEntries(parameters.map(([k, v]) => [k, Buffer.from(String(v))])) } };
  for (let at = 0; at < list.length; ) {
    const end = Math.min(list.length, at + 1 + below(200));
    yield {
      cases: list.slice(at, end).map((v, i) => ({
        caseId: id(at + i),
        input: Buffer.from(v.input, "base64"),
        stubs: v.stubs.map((s) => ({ call: s.call, value: Buffer.from(s.value, "base64") })),
      })),
    };
    at = end;
  }
}
