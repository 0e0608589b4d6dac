import { createHash } from "node:crypto";
import { createRegistry, equals, fromBinary } from "@bufbuild/protobuf";
import {
  type Decision,
  DecisionSchema,
  type GetGateStatusResponse,
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

/**
 * Holds an answer of the gate against the server's log: the checkpoint is signed by the pinned key and extends the pinned log, and every
 * decision is in it, exactly as it was answered. It gives the pin for the next answer. It rejects with a TamperedError where that does
 * not hold, and with a StatusError where the server cannot be asked.
 */
export async function checkGate(connection: Connection, answer: GetGateStatusResponse, pin: Pin): Promise<Pin> {
  let { key } = pin;
  if (key === "") {
    const first = await connection.unary(LogService.method.getCheckpoint, {});
    key = first.verifierKey;
  }
  const verifier = holding("its key", () => verifierOf(key));
  const tree = holding("the checkpoint of the answer", () => openCheckpoint(answer.checkpoint, verifier));
  await checkExtends(connection, pin, tree);
  for (const standing of answer.sets) {
    if (standing.decision !== undefined) {
      checkIncluded(standing, standing.decision, tree);
    } else if (standing.status === Status.PASS) {
      throw new TamperedError(`set ${JSON.stringify(standing.set)}: a pass without a decision is none`);
    }
  }
  if (
    answer.status === Status.PASS &&
    (answer.sets.length === 0 || answer.sets.some((s) => s.status !== Status.PASS))
  ) {
    throw new TamperedError("a pass in which not every set passes is none");
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
