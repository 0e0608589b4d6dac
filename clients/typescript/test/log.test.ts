import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { Client, noPin, type Pin, TamperedError } from "@retrial/sdk";
import { type Asked, checkGate } from "../src/check.js";
import {
  type DecisionSchema,
  GateService,
  type GetGateStatusResponse,
  GetGateStatusResponseSchema,
  Ruling,
  SetStandingSchema,
  Status,
  WaiverSchema,
} from "../src/gen/retrial/gate/v1/gate_pb.js";
import { LogService } from "../src/gen/retrial/log/v1/log_pb.js";
import { openCheckpoint, openNote, verifierOf } from "../src/note.js";
import { readPin, writePin } from "../src/pin.js";
import { Connection } from "../src/rpc.js";
import { isExtended, isIncluded, leafHash } from "../src/tree.js";
import { consistency, FakeLog, inclusion, serveFakes, treeHash } from "./fakes.js";
import { temporary } from "./support.js";

const leaves = Array.from({ length: 40 }, (_, i) => Buffer.from(`leaf ${i}`));
const flipped = (proof: Uint8Array[], at: number) =>
  proof.map((h, i) => (i === at ? Buffer.from(h).fill(0xff, 0, 1) : h));

test("a proof of inclusion holds for its leaf, index and tree, and for no other", () => {
  for (let size = 1; size <= leaves.length; size++) {
    const tree = { size, root: treeHash(leaves.slice(0, size)) };
    for (let index = 0; index < size; index++) {
      const proof = inclusion(leaves.slice(0, size), index);
      const leaf = leafHash(leaves[index] as Buffer);
      assert.ok(isIncluded(proof, tree, index, leaf), `${index} of ${size}`);
      assert.ok(!isIncluded(proof, tree, index + 1, leaf));
      assert.ok(!isIncluded([...proof, leaf], tree, index, leaf));
      assert.ok(!isIncluded(proof, tree, index, leafHash(Buffer.from("another"))));
      for (const at of proof.keys()) {
        assert.ok(!isIncluded(flipped(proof, at), tree, index, leaf));
        assert.ok(!isIncluded(proof.slice(0, at), tree, index, leaf));
      }
    }
  }
  assert.ok(!isIncluded([], { size: 0, root: treeHash([]) }, 0, treeHash([])));
  assert.ok(!isIncluded([], { size: 1, root: treeHash([]) }, -1, treeHash([])));
});

test("a proof of consistency holds for its two trees, and for no others", () => {
  for (let size = 1; size <= leaves.length; size++) {
    const tree = { size, root: treeHash(leaves.slice(0, size)) };
    for (let older = 1; older <= size; older++) {
      const before = { size: older, root: treeHash(leaves.slice(0, older)) };
      const proof = consistency(leaves.slice(0, size), older);
      assert.ok(isExtended(proof, tree, before), `${older} to ${size}`);
      assert.ok(!isExtended(proof, tree, { size: older, root: leafHash(Buffer.from("x")) }));
      assert.ok(!isExtended([...proof, before.root], tree, before));
      for (const at of proof.keys()) {
        assert.ok(!isExtended(flipped(proof, at), tree, before));
        assert.ok(!isExtended(proof.slice(0, at), tree, before));
      }
    }
    assert.ok(!isExtended([], tree, { size: 0, root: treeHash([]) }));
    assert.ok(!isExtended([], tree, { size: size + 1, root: tree.root }));
  }
});

test("a note is signed by the key, or it is none", () => {
  const log = new FakeLog();
  const verifier = verifierOf(log.key);
  const text = "retrial.dev/log\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n";
  const note = log.sign(text);
  assert.equal(openNote(note, verifier), text);
  assert.equal(openCheckpoint(note, verifier).size, 0);
  const other = new FakeLog().sign(text).toString().split("\n").at(-2);
  assert.equal(openNote(Buffer.from(`${note}${other}\n`), verifier), text);
  for (let at = 0; at < note.length; at++) {
    const edited = Buffer.from(note);
    edited[at] = (edited[at] as number) ^ 1;
    assert.throws(() => openCheckpoint(edited, verifier), TypeError, `byte ${at}`);
  }
  const line = note.toString().split("\n").at(-2);
  const bad = [
    "",
    "\n\n",
    text,
    `${text}\n`,
    note.toString().slice(0, -1),
    `${text}\n${other}\n`,
    `${text}\n${line}\n\n`,
    `${text}\n${`${other}\n`.repeat(100)}${line}\n`,
    `${text}\n-- x y\n`,
    note.toString().replace("log\n0", "log\r\n0"),
  ];
  for (const each of bad) {
    assert.throws(() => openNote(Buffer.from(each), verifier), TypeError, each);
  }
  for (const each of [
    "retrial.dev/log\n00\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
    "retrial.dev/log\n0\n47DEQpj8HBSa\n",
    "retrial.dev/log\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\nmore\n",
    "retrial.dev/log\n-1\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
    "other\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
  ]) {
    assert.throws(() => openCheckpoint(log.sign(each), verifier), TypeError, each);
  }
  for (const each of [
    "",
    "a+b",
    log.key.replace("+", "++"),
    log.key.replace("retrial", "other"),
    `${log.key}=`,
    log.key.replace("retrial.dev", "retrial dev"),
  ]) {
    assert.throws(() => verifierOf(each), TypeError, each);
  }
});

async function logAt(
  t: TestContext,
): Promise<{ log: FakeLog; check: (answer: GetGateStatusResponse, pin: Pin, asked?: Asked) => Promise<Pin> }> {
  const log = new FakeLog();
  const connection = new Connection(await serveFakes(t, [LogService, log.service]), {});
  t.after(() => connection.close());
  const v1 = { release: "v1", sets: ["s"] };
  return { log, check: (answer, pin, asked = v1) => checkGate(connection, asked, answer, pin) };
}

const tampered = (says: RegExp) => (e: unknown) => {
  assert.ok(e instanceof TamperedError && says.test(e.message), String(e));
  return true;
};

test("an answer holds only if it is in the log, as it is, under the key and behind the log that were pinned", async (t) => {
  const { log, check } = await logAt(t);
  for (let i = 0; i < 5; i++) {
    log.add(`older ${i}`);
  }
  const pin = await check(log.answer("r-1"), noPin);
  assert.deepEqual([pin.size, pin.key], [6, log.key]);
  const again = log.answer("r-2");
  const later = await check(again, pin);
  assert.equal(later.size, 7);
  assert.deepEqual(await check(again, later), later);
  const changes: Record<string, [(r: GetGateStatusResponse) => void, RegExp]> = {
    "another decision": [
      (r) => void Object.assign(decisionOf(r), { summary: "release blocked" }),
      /not what was recorded/,
    ],
    "another count": [
      (r) => void Object.assign(decisionOf(r), { flipsByClass: { reason: 2n } }),
      /not what was recorded/,
    ],
    "a field of a later release": [
      (r) => void Object.assign(decisionOf(r), { $unknown: [{ no: 999, wireType: 0, data: Uint8Array.of(1) }] }),
      /not what was recorded/,
    ],
    "another replay's": [(r) => void Object.assign(decisionOf(r), { replayId: "r-3" }), /not what was recorded/],
    "another record": [(r) => void Object.assign(proofOf(r), { record: Buffer.from("{}") }), /about another record/],
    "an edited checkpoint": [(r) => void r.checkpoint.fill(0x41, 20, 21), /the checkpoint of the answer/],
    "no checkpoint": [(r) => void Object.assign(r, { checkpoint: new Uint8Array(0) }), /the checkpoint of the answer/],
    "another hash": [(r) => void proofOf(r).hashes[0]?.fill(7), /not in the log/],
    "a cut hash": [(r) => void proofOf(r).hashes.splice(0, 1, Buffer.from("abc")), /not in the log/],
    "another index": [(r) => void Object.assign(proofOf(r).entry ?? {}, { index: 2n ** 63n }), /not in the log/],
    "no proof": [(r) => void delete (r.sets[0] as { proof?: unknown }).proof, /not in the log/],
  };
  for (const [name, [change, says]] of Object.entries(changes)) {
    await assert.rejects(check(changed(again, change), later), tampered(says), name);
  }
  await assert.rejects(check(new FakeLog().answer("r-1"), later), tampered(/the checkpoint of the answer/));
  await assert.rejects(check(again, { ...later, key: "x" }), tampered(/its key/));
});

function changed(answer: GetGateStatusResponse, change: (r: GetGateStatusResponse) => void): GetGateStatusResponse {
  const out = fromBinary(GetGateStatusResponseSchema, toBinary(GetGateStatusResponseSchema, answer));
  change(out);
  return out;
}

const standingOf = (r: GetGateStatusResponse) => r.sets[0] ?? assert.fail();
const decisionOf = (r: GetGateStatusResponse) => standingOf(r).decision ?? assert.fail();
const proofOf = (r: GetGateStatusResponse) => standingOf(r).proof ?? assert.fail();
const undecided = (r: GetGateStatusResponse) => {
  delete standingOf(r).decision;
  return r;
};
const waive = (r: GetGateStatusResponse) => void standingOf(r).waivers.push(create(WaiverSchema, { waiverId: "w-1" }));

test("an answer holds only for what was asked", async (t) => {
  const { log, check } = await logAt(t);
  const answer = log.answer("r-1");
  for (const sets of [[], ["s"], ["s", "s"]]) {
    await check(answer, noPin, { release: "v1", sets });
  }
  await assert.rejects(check(answer, noPin, { release: "v2", sets: ["s"] }), tampered(/"v1", and "v2" was asked for/));
  await assert.rejects(check(answer, noPin, { release: "v1", sets: ["s", "t"] }), tampered(/"t" was asked for/));
});

test("a pass holds only by decisions that pass or are waived, even if the log has them", async (t) => {
  const { log, check } = await logAt(t);
  const logged: Record<string, [MessageInitShape<typeof DecisionSchema>, RegExp]> = {
    "of another release": [{ release: "v0" }, /a decision about release "v0" on set "s"/],
    "of another set": [{ set: "t" }, /a decision about release "v1" on set "t"/],
    "that blocks": [{ ruling: Ruling.BLOCK }, /does not pass, without a waiver/],
    "without a confirmed baseline": [{ ruling: Ruling.BASELINE_UNCONFIRMED }, /does not pass, without a waiver/],
    "without a ruling": [{ ruling: Ruling.UNSPECIFIED }, /does not pass, without a waiver/],
    "over some": [{ partial: true }, /some of the fixtures/],
  };
  for (const [name, [change, says]] of Object.entries(logged)) {
    await assert.rejects(check(log.answer("r-1", change), noPin), tampered(says), name);
  }
  const waived = changed(log.answer("r-1", { ruling: Ruling.BLOCK }), waive);
  assert.equal((await check(waived, noPin)).size, log.leaves.length);
  for (const change of [{ release: "v0" }, { set: "t" }, { partial: true }]) {
    await assert.rejects(check(changed(log.answer("r-1", change), waive), noPin), TamperedError);
  }
  // Where nothing passes, a decision is still to be one about the release and the set.
  const blocks = (r: GetGateStatusResponse) => {
    r.status = Status.BLOCK;
    standingOf(r).status = Status.BLOCK;
  };
  await check(changed(log.answer("r-1", { ruling: Ruling.BLOCK, partial: true }), blocks), noPin);
  await assert.rejects(check(changed(log.answer("r-1", { set: "t" }), blocks), noPin), tampered(/on set "t"/));

  const unfounded: Record<string, [(r: GetGateStatusResponse) => void, RegExp]> = {
    "no decision": [undecided, /without a decision/],
    "a waiver of no decision": [(r) => waive(undecided(r)), /without a decision/],
    "no decision, in an answer that blocks": [
      (r) => void Object.assign(undecided(r), { status: Status.BLOCK }),
      /without a decision/,
    ],
    "a set that blocks": [(r) => void Object.assign(standingOf(r), { status: Status.BLOCK }), /the set does not/],
    "one more set that does not pass": [
      (r) => void r.sets.push(create(SetStandingSchema, { set: "t", status: Status.UNKNOWN })),
      /"t": the release passes, and the set does not/,
    ],
    "no set": [(r) => void r.sets.splice(0), /over no set/],
  };
  const passes = log.answer("r-2");
  for (const [name, [change, says]] of Object.entries(unfounded)) {
    await assert.rejects(check(changed(passes, change), noPin, { release: "v1", sets: [] }), tampered(says), name);
  }
});

/** A client of a gate that answers what it is told to. */
async function clientOf(
  t: TestContext,
  log: FakeLog,
  answer: () => GetGateStatusResponse,
  pinFile?: string,
): Promise<Client> {
  const getGateStatus = (_: unknown, reply: (e: null, r: GetGateStatusResponse) => void) => reply(null, answer());
  const address = await serveFakes(t, [LogService, log.service], [GateService, { getGateStatus }]);
  const client = new Client(address, pinFile === undefined ? {} : { pinFile });
  t.after(() => client.close());
  return client;
}

test("a client holds an answer against what it asked for, and against the log as it last saw it", async (t) => {
  const log = new FakeLog();
  const [older, newer] = [log.answer("r-1"), log.answer("r-2")];
  let answer = newer;
  const client = await clientOf(t, log, () => answer);
  await assert.rejects(client.gateStatus("v2"), tampered(/"v2" was asked for/));
  await assert.rejects(client.gateStatus("v1", { sets: ["s", "t"] }), tampered(/"t" was asked for/));
  assert.equal((await client.gateStatus("v1", { sets: ["s"] })).status, Status.PASS);
  answer = older;
  await assert.rejects(client.gateStatus("v1"), tampered(/went back/));
});

test("a client that shares its pin heeds what others have seen since, and does not set it back", async (t) => {
  const log = new FakeLog();
  const [first, second, third] = [log.answer("r-1"), log.answer("r-2"), log.answer("r-3")];
  const pinOf = (size: number): Pin => ({
    key: log.key,
    size,
    root: Buffer.from(treeHash(log.leaves.slice(0, size))).toString("base64"),
  });
  const file = join(temporary(t), "pin.json");
  const another = () => writeFileSync(file, JSON.stringify(pinOf(3)));
  let answer = () => first;
  const client = await clientOf(t, log, () => answer(), file);
  await client.gateStatus("v1");
  assert.deepEqual(await readPin(file), pinOf(1));
  another();
  answer = () => second;
  await assert.rejects(client.gateStatus("v1"), tampered(/has 2 entries, of which there were 3/));
  answer = () => third;
  await client.gateStatus("v1");
  // Where another one sees more of the log while an answer is under way, the answer holds, and its pin is not written.
  writeFileSync(file, JSON.stringify(pinOf(1)));
  answer = () => {
    another();
    return second;
  };
  await client.gateStatus("v1");
  assert.deepEqual(await readPin(file), pinOf(3));
});

test("a log that went back, or was rewritten, does not hold", async (t) => {
  const { log, check } = await logAt(t);
  for (let i = 0; i < 6; i++) {
    log.add(`older ${i}`);
  }
  const pin = await check(log.answer("r-1"), noPin);
  log.leaves = [];
  await assert.rejects(check(log.answer("r-9"), pin), tampered(/went back/));
  log.leaves = Array.from({ length: 6 }, (_, i) => Buffer.from(`rewritten ${i}`));
  await assert.rejects(check(log.answer("r-9"), pin), tampered(/not those that were pinned/));
  await assert.rejects(check(log.answer("r-9"), pin), tampered(/do not extend/));
});

test("a pin is kept as the command line keeps it, and one that cannot be read is not taken for none", async (t) => {
  const file = join(temporary(t), "deeper", "pin.json");
  assert.deepEqual(await readPin(file), noPin);
  const pin = { key: "k", size: 7, root: Buffer.alloc(32, 1).toString("base64") };
  await writePin(file, pin);
  assert.deepEqual(await readPin(file), pin);
  assert.equal(readFileSync(file, "utf8"), `{"key":"k","size":7,"root":"${pin.root}"}\n`);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  await writePin(file, { ...pin, size: 6 });
  assert.deepEqual(await readPin(file), pin);
  for (const bad of [
    "",
    "{}",
    "null",
    '{"key":"k","size":"7","root":""}',
    JSON.stringify({ ...pin, root: "AQ==" }),
    JSON.stringify({ ...pin, size: -0.5 }),
    JSON.stringify({ ...pin, size: -1 }),
    JSON.stringify({ ...pin, key: "" }),
  ]) {
    writeFileSync(file, bad);
    await assert.rejects(readPin(file), /does not say what was seen/);
  }
});
