import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { noPin, type Pin, TamperedError } from "@retrial/sdk";
import { checkGate } from "../src/check.js";
import { type GetGateStatusResponse, GetGateStatusResponseSchema, Status } from "../src/gen/retrial/gate/v1/gate_pb.js";
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
): Promise<{ log: FakeLog; check: (answer: GetGateStatusResponse, pin: Pin) => Promise<Pin> }> {
  const log = new FakeLog();
  const connection = new Connection(await serveFakes(t, [LogService, log.service]), {});
  t.after(() => connection.close());
  return { log, check: (answer, pin) => checkGate(connection, answer, pin) };
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
    "a pass without a decision": [
      (r) => void delete (r.sets[0] as { decision?: unknown }).decision,
      /without a decision/,
    ],
    "a pass over no set": [(r) => void r.sets.splice(0), /not every set passes/],
    "a pass over a block": [
      (r) => void Object.assign(r.sets[0] ?? {}, { status: Status.BLOCK }),
      /not every set passes/,
    ],
  };
  for (const [name, [change, says]] of Object.entries(changes)) {
    const bad = fromBinary(GetGateStatusResponseSchema, toBinary(GetGateStatusResponseSchema, again));
    change(bad);
    await assert.rejects(check(bad, later), tampered(says), name);
  }
  await assert.rejects(check(new FakeLog().answer("r-1"), later), tampered(/the checkpoint of the answer/));
  await assert.rejects(check(again, { ...later, key: "x" }), tampered(/its key/));
});

const decisionOf = (r: GetGateStatusResponse) => r.sets[0]?.decision ?? assert.fail();
const proofOf = (r: GetGateStatusResponse) => r.sets[0]?.proof ?? assert.fail();

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
  for (const bad of [
    "",
    "{}",
    "null",
    '{"key":"k","size":"7","root":""}',
    JSON.stringify({ ...pin, root: "AQ==" }),
    JSON.stringify({ ...pin, size: -0.5 }),
  ]) {
    writeFileSync(file, bad);
    await assert.rejects(readPin(file), /does not say what was seen/);
  }
});
