import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type ServerWritableStream, status } from "@grpc/grpc-js";
import { Client, type Decision, NoDecisionError, passed, type Replay, Ruling } from "@retrial/sdk";
import { DecisionSchema } from "../src/gen/retrial/gate/v1/gate_pb.js";
import {
  type ReplayRequest,
  type ReplayResponse,
  ReplayResponseSchema,
  ReplayService,
} from "../src/gen/retrial/replay/v1/replay_pb.js";
import { serveFakes } from "./fakes.js";

type Call = ServerWritableStream<ReplayRequest, ReplayResponse>;
type Event = NonNullable<MessageInitShape<typeof ReplayResponseSchema>["event"]>;

const started = (replayId: string, hermeticCount: bigint): Event => ({
  case: "started",
  value: { replayId, hermeticCount },
});
const decided = (d: MessageInitShape<typeof DecisionSchema>): Event => ({ case: "decision", value: d });
const pass = (replayId: string, n: bigint) => ({
  replayId,
  set: "s",
  release: "v1",
  ruling: Ruling.PASS,
  expected: n,
  confirmed: n,
  evaluated: n,
});
const excused = (confirmed: bigint, excused: bigint): Event => decided({ ...pass("r", 9n), confirmed, excused });
const finding: Event = { case: "finding", value: { code: "FLIP" } };

/** Begins a replay at a service that sends what it is told to. */
async function scripted(
  t: TestContext,
  events: Event[],
  end?: { code: status; details: string } | "never",
  seen?: (call: Call) => void,
): Promise<Replay> {
  const address = await serveFakes(t, [
    ReplayService,
    {
      replay: (call: Call) => {
        seen?.(call);
        for (const event of events) {
          call.write(create(ReplayResponseSchema, { event }));
        }
        if (end === undefined) {
          call.end();
        } else if (end !== "never") {
          call.emit("error", end);
        }
      },
    },
  ]);
  const client = new Client(address);
  t.after(() => client.close());
  return client.replay({
    set: "s",
    baseline: "stable",
    candidate: { checker: { case: "name", value: "next" }, parameters: { a: "1" } },
    release: "v1",
  });
}

test("whatever a stream lacks or has too much of, without a sound decision there is none", async (t) => {
  const unavailable = { code: status.UNAVAILABLE, details: "gone" };
  const cases: [string, Event[], typeof unavailable | undefined, RegExp | undefined][] = [
    ["in order", [started("r", 9n), finding, decided(pass("r", 9n))], undefined, undefined],
    [
      "a block",
      [started("r", 9n), decided({ replayId: "r", set: "s", release: "v1", ruling: Ruling.BLOCK })],
      undefined,
      undefined,
    ],
    [
      "a decision about another release",
      [started("r", 9n), decided({ ...pass("r", 9n), release: "another" })],
      undefined,
      /something else was asked for/,
    ],
    [
      "a decision about another set",
      [started("r", 9n), decided({ ...pass("r", 9n), set: "t" })],
      undefined,
      /something else was asked for/,
    ],
    ["nothing", [], undefined, /ended without one/],
    ["cut", [started("r", 9n), finding], undefined, /ended without one/],
    ["an error", [started("r", 9n)], { code: status.DATA_LOSS, details: "damaged" }, /DATA_LOSS: damaged/],
    ["an error behind the decision", [started("r", 9n), decided(pass("r", 9n))], unavailable, /UNAVAILABLE: gone/],
    ["no start", [decided(pass("r", 9n))], undefined, /does not begin with the start/],
    ["a finding first", [finding, started("r", 9n)], undefined, /does not begin with the start/],
    ["two starts", [started("r", 9n), started("r", 9n), decided(pass("r", 9n))], undefined, /started twice/],
    ["two decisions", [started("r", 9n), decided(pass("r", 9n)), decided(pass("r", 9n))], undefined, /went on behind/],
    ["a finding behind the decision", [started("r", 9n), decided(pass("r", 9n)), finding], undefined, /went on behind/],
    [
      "a decision of another replay",
      [started("r", 9n), decided(pass("s", 9n))],
      undefined,
      /the decision is of replay "s"/,
    ],
    ["an unknown event", [started("r", 9n), { case: undefined }], undefined, /does not know/],
    ["a pass over nothing", [started("r", 0n), decided(pass("r", 0n))], undefined, /is none/],
    ["a pass that is short", [started("r", 9n), decided({ ...pass("r", 9n), evaluated: 8n })], undefined, /is none/],
    [
      "a pass that is not confirmed",
      [started("r", 9n), decided({ ...pass("r", 9n), confirmed: 8n })],
      undefined,
      /is none/,
    ],
    ["a pass over fewer than were to be tried", [started("r", 9n), decided(pass("r", 8n))], undefined, /is none/],
    ["a pass with what is excused", [started("r", 9n), excused(1n, 8n)], undefined, undefined],
    ["a pass with all excused", [started("r", 9n), excused(0n, 9n)], undefined, /is none/],
    ["a pass with too many excused", [started("r", 9n), excused(9n, 1n)], undefined, /is none/],
    ["a pass with too few excused", [started("r", 9n), excused(7n, 1n)], undefined, /is none/],
  ];
  for (const [name, events, end, says] of cases) {
    for (const iterate of [true, false]) {
      const replay = await scripted(t, events, end);
      const reading = async () => {
        let n = 0;
        if (iterate) {
          for await (const _ of replay) {
            n++;
          }
          assert.equal(n, events.length, name);
        }
      };
      if (says === undefined) {
        await reading();
        assert.equal((await replay.decision()).replayId, "r", name);
        continue;
      }
      if (iterate) {
        await assert.rejects(reading(), NoDecisionError, name);
      }
      await assert.rejects(replay.decision(), (e) => e instanceof NoDecisionError && says.test(e.message), name);
    }
  }
});

test("a caller that does not read to the end has no decision, even if one was seen, and cancels", {
  timeout: 10_000,
}, async (t) => {
  let cancel = () => {};
  const cancelled = new Promise<void>((resolve) => {
    cancel = resolve;
  });
  const replay = await scripted(t, [started("r", 9n), decided(pass("r", 9n))], "never", (call) =>
    call.on("cancelled", cancel),
  );
  for await (const event of replay) {
    if (event.case === "decision") {
      break;
    }
  }
  await assert.rejects(replay.decision(), NoDecisionError);
  await cancelled;
});

test("a checker can be named by a string", async (t) => {
  const seen: ReplayRequest[] = [];
  await assert.rejects(
    (await scripted(t, [], undefined, (call) => seen.push(call.request))).decision(),
    NoDecisionError,
  );
  const [r] = seen;
  assert.deepEqual(
    [r?.baseline?.checker.value, r?.candidate?.checker.value, r?.candidate?.parameters.a, r?.release],
    ["stable", "next", "1", "v1"],
  );
});

test("only a whole pass lets a release go out", () => {
  const of = (d: MessageInitShape<typeof DecisionSchema>): Decision => create(DecisionSchema, d);
  assert.ok(passed(of(pass("r", 9n))));
  for (const d of [
    undefined,
    of({}),
    of({ ...pass("r", 9n), partial: true }),
    of({ ruling: Ruling.BLOCK }),
    of({ ruling: Ruling.BASELINE_UNCONFIRMED }),
    of({ ruling: 99 as Ruling }),
  ]) {
    assert.ok(!passed(d));
  }
});

test("a server that is not there is no decision", async (t) => {
  const client = new Client("unix:/nowhere/at/all");
  t.after(() => client.close());
  await assert.rejects(
    client.replay({ set: "s", baseline: "a", candidate: "b" }).decision(),
    (e) => e instanceof NoDecisionError && /UNAVAILABLE/.test(e.message),
  );
});

test("a token is not sent in the clear to another machine", () => {
  assert.throws(() => new Client("10.0.0.7:7433", { token: "x" }), /not sent in the clear/);
});
