import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { defineChecker } from "@retrial/sdk";
import { CheckStream } from "../src/service.js";

/** Lets the loop turn as often as anything that can happen by itself needs. */
async function settle(): Promise<void> {
  for (let n = 0; n < 200; n++) {
    await setImmediate();
  }
}

test("a caller that takes no answers is not answered on and on, nor read from", async () => {
  const total = 100;
  let decided = 0;
  let asked = 0;
  const held: (() => void)[] = [];
  const checker = defineChecker({ name: "x", version: "1" }, () => {
    decided++;
    return { verdict: "a" };
  });
  const request = { open: undefined, cases: [{ id: Uint8Array.of(1), input: Buffer.from("{}"), stubs: [] }] };
  const stream = Object.assign(
    new Duplex({
      objectMode: true,
      readableHighWaterMark: 1,
      writableHighWaterMark: 2,
      read() {
        this.push(asked === 0 ? { open: new Map(), cases: [] } : asked > total ? null : request);
        asked++;
      },
      write: (_chunk, _encoding, taken) => held.push(taken),
    }),
    { cancelled: false },
  );
  const served = new CheckStream(checker, stream as never).serve();
  await settle();
  assert.ok(decided >= 1 && decided <= 3 && asked <= 6, `${decided} decided, ${asked} asked`);
  held.shift()?.();
  held.shift()?.();
  await settle();
  assert.ok(decided >= 2 && decided <= 6, `${decided} decided after two were taken`);
  while (decided < total || held.length > 0) {
    held.shift()?.();
    await setImmediate();
  }
  await served;
  assert.equal(decided, total);
});
