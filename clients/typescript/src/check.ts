import { createHash } from "node:crypto";
import { createRegistry, equals, fromBinary } from "@bufbuild/protobuf";
import {
  type Decision,
  DecisionSchema,
  type GetGateStatusResponse,
  Ruling,
  type SetStanding,
  Status,
} from "./gen/retrial/gate/v1/gate_pb.js";
import { LogService } from "./gen/retrial/log/v1/log_pb.js";
import { base64, openCheckpoint, type Verifier, verifierOf } from "./note.js";
import type { Connection } from "./rpc.js";
import { isExtended, isIncluded, leafHash, type Tree } from "./tree.js";

/** Says that a server's log does not hold: an answer is not in it, or it is not the log that it was. It is no pass. */
export class TamperedError extends Error {
  override readonly name = "TamperedError";

  constructor(what: string, options?: ErrorOptions) {
    super(`the server's log does not hold: ${what}`, options);
  }
}

/** What a client remembers of a server's log from one answer to the next. */
export interface Pin {
  /** The server's public key, in the form of golang.org/x/mod/sumdb/note; empty trusts on first use. */
  readonly key: string;
  /** The size and the root of the newest checkpoint that was seen; the root is base64 of 32 bytes. */
  readonly size: number;
  readonly root: string;
}

/** Remembers nothing, and trusts on first use. */
export const noPin: Pin = { key: "", size: 0, root: Buffer.alloc(32).toString("base64") };

/** What the gate was asked for. */
export interface Asked {
  readonly release: string;
  readonly sets: readonly string[];
}

/**
 * Holds an answer of the gate against what was asked and against the server's log: it is about the release and all of the sets, the
 * checkpoint is signed by the pinned key and extends the pinned log, every decision is in it, exactly as it was answered, and a set that
 * passes does so by a decision that passes or is waived. It gives the pin for the next answer. It rejects with a TamperedError where that
 * does not hold, and with a StatusError where the server cannot be asked.
 *
 * What it takes from the server on trust is that no later decision is in the log, and the waivers.
 */
export async function checkGate(
  connection: Connection,
  asked: Asked,
  answer: GetGateStatusResponse,
  pin: Pin,
): Promise<Pin> {
  let { key } = pin;
  if (key === "") {
    const first = await connection.unary(LogService.method.getCheckpoint, {});
    key = first.verifierKey;
  }
  const verifier = holding("its key", () => verifierOf(key));
  const tree = holding("the checkpoint of the answer", () => openCheckpoint(answer.checkpoint, verifier));
  await checkExtends(connection, pin, tree);
  checkAnswers(asked, answer);
  for (const standing of answer.sets) {
    if (standing.decision !== undefined) {
      checkIncluded(standing, standing.decision, tree);
    }
  }
  return { key, size: tree.size, root: Buffer.from(tree.root).toString("base64") };
}

function holding<T extends Verifier | Tree | Decision | Record<string, unknown>>(what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new TamperedError(`${what}: ${(cause as Error).message}`, { cause });
  }
}

/** Holds an answer against its question, and its standings against the decisions that they rest on. */
function checkAnswers(asked: Asked, answer: GetGateStatusResponse): void {
  if (answer.release !== asked.release) {
    throw new TamperedError(
      `an answer about release ${JSON.stringify(answer.release)}, and ${JSON.stringify(asked.release)} was asked for`,
    );
  }
  for (const standing of answer.sets) {
    const why = unfounded(answer, standing);
    if (why !== undefined) {
      throw new TamperedError(`set ${JSON.stringify(standing.set)}: ${why}`);
    }
  }
  const missing = asked.sets.find((set) => answer.sets.every((standing) => standing.set !== set));
  if (missing !== undefined) {
    throw new TamperedError(`set ${JSON.stringify(missing)} was asked for, and is not in the answer`);
  }
  if (answer.status === Status.PASS && answer.sets.length === 0) {
    throw new TamperedError("a pass over no set");
  }
}

/** Says why the standing of a set does not follow from its decision, if it does not. */
function unfounded(answer: GetGateStatusResponse, { set, status, decision, waivers }: SetStanding): string | undefined {
  const passes = status === Status.PASS;
  if (answer.status === Status.PASS && !passes) {
    return "the release passes, and the set does not";
  }
  if (decision === undefined) {
    return passes ? "a pass without a decision" : undefined;
  }
  if (decision.set !== set || decision.release !== answer.release) {
    return `a decision about release ${JSON.stringify(decision.release)} on set ${JSON.stringify(decision.set)}`;
  }
  if (passes && decision.partial) {
    return "a pass by a replay of some of the fixtures";
  }
  if (passes && decision.ruling !== Ruling.PASS && waivers.length === 0) {
    return "a pass by a decision that does not pass, without a waiver";
  }
  return undefined;
}

/** Holds a tree against the pinned one. */
async function checkExtends(connection: Connection, pin: Pin, tree: Tree): Promise<void> {
  if (pin.size === 0) {
    return;
  }
  const root = base64(pin.root) ?? Buffer.alloc(0);
  if (tree.size < pin.size) {
    throw new TamperedError(`it has ${tree.size} entries, of which there were ${pin.size}: the server went back`);
  }
  if (tree.size === pin.size) {
    if (!root.equals(tree.root)) {
      throw new TamperedError(`its ${tree.size} entries are not those that were pinned`);
    }
    return;
  }
  const request = { oldSize: BigInt(pin.size), size: BigInt(tree.size) };
  const { consistency } = await connection.unary(LogService.method.getCheckpoint, request);
  if (!isExtended(consistency, tree, { size: pin.size, root })) {
    throw new TamperedError(`its ${tree.size} entries do not extend the ${pin.size} that were pinned`);
  }
}

/** Holds a decision against its record, the record against its entry, and the entry against the tree. */
function checkIncluded({ set, proof }: SetStanding, decision: Decision, tree: Tree): void {
  const where = `the decision for set ${JSON.stringify(set)}`;
  const leaf = proof?.entry?.leaf ?? new Uint8Array(0);
  if (proof === undefined || !isIncluded(proof.hashes, tree, Number(proof.entry?.index ?? 0n), leafHash(leaf))) {
    throw new TamperedError(`${where}: it is not in the log`);
  }
  const entry = holding(where, () => object(leaf));
  if (entry.record !== createHash("sha256").update(proof.record).digest("hex")) {
    throw new TamperedError(`${where}: its entry is about another record`);
  }
  const record = holding(where, () => object(proof.record));
  const logged = holding(where, () => fromBinary(DecisionSchema, base64(String(record.decision)) ?? new Uint8Array(0)));
  if (!equals(DecisionSchema, logged, decision, { registry: createRegistry(), unknown: true })) {
    throw new TamperedError(`${where}: it is not what was recorded`);
  }
}

function object(json: Uint8Array): Record<string, unknown> {
  const value: unknown = JSON.parse(Buffer.from(json).toString());
  if (typeof value !== "object" || value === null) {
    throw new TypeError("no JSON object");
  }
  return value as Record<string, unknown>;
}
