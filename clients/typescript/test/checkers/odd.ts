// Answers by what the input says: everything that an author's function can do.
import { writeSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { defineChecker, InputError, type Outcome, serve } from "@retrial/sdk";

const hostile = {
  toString(): string {
    throw new Error("no text");
  },
};

const behaviours: Record<string, (c: Parameters<Parameters<typeof defineChecker>[1]>[0]) => unknown> = {
  throw: () => {
    throw new Error("out of cheese");
  },
  handle: (c) => ({ verdict: "a", reasonCode: c.handle }),
  "throw long": () => {
    throw new Error("é".repeat(5000));
  },
  "throw lone": () => {
    throw new Error("\ud800");
  },
  "throw nothing": () => {
    throw undefined;
  },
  "throw hostile": () => {
    throw hostile;
  },
  "throw later": async () => {
    await setImmediate();
    throw new TypeError("later");
  },
  input: (c) => c.integer("what"),
  refuse: () => {
    throw new InputError("not mine");
  },
  "refuse later": async () => {
    await setImmediate();
    throw new InputError("not mine");
  },
  swallow: (c) => {
    try {
      c.stub("missing");
    } catch {}
    return { verdict: "a" };
  },
  "swallow later": async (c) => {
    await setImmediate();
    return Promise.resolve()
      .then(() => c.stub("missing"))
      .catch(() => ({ verdict: "a" }));
  },
  "swallow and throw": (c) => {
    try {
      c.stub("missing");
    } catch {
      throw new InputError("another reason");
    }
    return undefined;
  },
  none: () => ({ verdict: "" }),
  nothing: () => undefined,
  "no text": () => ({ verdict: 7 }),
  "lone verdict": () => ({ verdict: "\udfff" }),
  "number for a reason": () => ({ verdict: "a", reasonCode: 7 }),
  stub: (c) => ({ verdict: "a", reasonCode: String(c.stub("classify")), output: { x: 1, n: c.value("n") ?? null } }),
  "stub twice": (c) => ({ verdict: "a", reasonCode: `${c.stub("classify")}${c.stub("classify")}` }),
  bytes: () => ({ verdict: "a", output: Buffer.from('{"x":1.0}') }),
  "no output": () => ({ verdict: "a", output: { x: Number.NaN } }),
  log: () => {
    console.log("logged");
    process.stdout.write("written\n");
    return { verdict: "a" };
  },
  float: (c) => {
    void setImmediate().then(() => c.stub("classify"));
    return { verdict: "a" };
  },
  reject: () => {
    void Promise.reject(new Error("floating"));
    return { verdict: "a" };
  },
  exit: () => process.exit(7),
  hang: () => new Promise(() => undefined),
  raw: (c) => ({ verdict: "a", reasonCode: Buffer.from(c.raw).toString() }),
  slow: () => {
    const end = performance.now() + 2;
    while (performance.now() < end);
    return { verdict: "a" };
  },
  wait: async (c) => {
    writeSync(2, "waiting\n");
    await new Promise((resolve) => c.signal.addEventListener("abort", resolve));
    writeSync(2, "abandoned\n");
    return { verdict: "a" };
  },
};

const checker = defineChecker(
  {
    name: "odd",
    version: "1",
    buildDigest: "test",
    verdicts: ["a"],
    callsStubs: true,
    parameters: {
      limit: { default: 3, description: "a limit" },
      ratio: { default: 0.5 },
      whole: { default: 1, type: "number" },
      strict: { default: false },
      word: { default: "w" },
      big: { default: 5n },
    },
  },
  (c) => {
    const behaviour = behaviours[String(c.value("what"))];
    if (behaviour !== undefined) {
      return behaviour(c) as Outcome;
    }
    const p = c.parameters;
    return { verdict: "a", reasonCode: `${p.limit} ${p.ratio} ${p.whole} ${p.strict} ${p.word} ${p.big}` };
  },
);

console.log("before the handshake");
await serve(checker);
