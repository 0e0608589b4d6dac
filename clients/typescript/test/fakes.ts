import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { join } from "node:path";
import type { TestContext } from "node:test";
import {
  create,
  type DescService,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Server, type ServiceDefinition, type UntypedServiceImplementation } from "@grpc/grpc-js";
import {
  DecisionSchema,
  type GetGateStatusResponse,
  GetGateStatusResponseSchema,
  Ruling,
  Status,
} from "../src/gen/retrial/gate/v1/gate_pb.js";
import { type GetCheckpointRequest, GetCheckpointResponseSchema } from "../src/gen/retrial/log/v1/log_pb.js";
import { bindTo } from "../src/listen.js";
import { leafHash } from "../src/tree.js";
import { temporary } from "./support.js";

/** Serves generated services at a socket for a test; gives the address. */
export async function serveFakes(
  t: TestContext,
  ...fakes: [DescService, UntypedServiceImplementation][]
): Promise<string> {
  const server = new Server();
  for (const [service, implementation] of fakes) {
    const definition: Record<string, ServiceDefinition[string]> = {};
    for (const m of service.methods.filter((each) => each.localName in implementation)) {
      definition[m.localName] = {
        path: `/${service.typeName}/${m.name}`,
        requestStream: m.methodKind === "client_streaming" || m.methodKind === "bidi_streaming",
        responseStream: m.methodKind === "server_streaming" || m.methodKind === "bidi_streaming",
        requestDeserialize: (b) => fromBinary(m.input, b),
        responseSerialize: (message: MessageShape<typeof m.output>) => Buffer.from(toBinary(m.output, message)),
        requestSerialize: (message: MessageShape<typeof m.input>) => Buffer.from(toBinary(m.input, message)),
        responseDeserialize: (b) => fromBinary(m.output, b),
      };
    }
    server.addService(definition, implementation);
  }
  const address = `unix:${join(temporary(t), "s")}`;
  await bindTo(server, address);
  t.after(() => server.forceShutdown());
  return address;
}

const sha256 = (...parts: Uint8Array[]) => createHash("sha256").update(Buffer.concat(parts)).digest();

/** The tree of RFC 6962 by its definitions. */
export function treeHash(leaves: Uint8Array[]): Uint8Array {
  if (leaves.length < 2) {
    return leaves[0] === undefined ? sha256() : leafHash(leaves[0]);
  }
  const k = below(leaves.length);
  return sha256(Uint8Array.of(1), treeHash(leaves.slice(0, k)), treeHash(leaves.slice(k)));
}

export function inclusion(leaves: Uint8Array[], index: number): Uint8Array[] {
  if (leaves.length < 2) {
    return [];
  }
  const k = below(leaves.length);
  const [left, right] = [leaves.slice(0, k), leaves.slice(k)];
  return index < k ? [...inclusion(left, index), treeHash(right)] : [...inclusion(right, index - k), treeHash(left)];
}

export function consistency(leaves: Uint8Array[], older: number, whole = true): Uint8Array[] {
  if (older === leaves.length) {
    return whole ? [] : [treeHash(leaves)];
  }
  const k = below(leaves.length);
  const [left, right] = [leaves.slice(0, k), leaves.slice(k)];
  return older <= k
    ? [...consistency(left, older, whole), treeHash(right)]
    : [...consistency(right, older - k, false), treeHash(left)];
}

/** The greatest power of two below n. */
const below = (n: number) => 2 ** Math.ceil(Math.log2(n) - 1);

/** A server's log in memory, which a test can tamper with. */
export class FakeLog {
  leaves: Uint8Array[] = [];
  readonly key: string;
  private readonly hash: Buffer;
  private readonly signer: KeyObject;

  constructor(readonly name = "retrial.dev/log") {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const raw = Buffer.concat([Uint8Array.of(1), publicKey.export({ format: "der", type: "spki" }).subarray(-32)]);
    this.hash = sha256(Buffer.from(`${name}\n`), raw).subarray(0, 4);
    this.key = `${name}+${this.hash.toString("hex")}+${raw.toString("base64")}`;
    this.signer = privateKey;
  }

  add(text: string): void {
    this.leaves.push(Buffer.from(text));
  }

  sign(text: string): Buffer {
    const signature = Buffer.concat([this.hash, sign(null, Buffer.from(text), this.signer)]);
    return Buffer.from(`${text}\n— ${this.name} ${signature.toString("base64")}\n`);
  }

  checkpoint(): Buffer {
    return this.sign(`${this.name}\n${this.leaves.length}\n${Buffer.from(treeHash(this.leaves)).toString("base64")}\n`);
  }

  /** The methods of LogService. */
  readonly service: UntypedServiceImplementation = {
    getCheckpoint: (
      call: { request: GetCheckpointRequest },
      answer: (e: null, r: MessageShape<typeof GetCheckpointResponseSchema>) => void,
    ) => {
      const { oldSize, size } = call.request;
      const proof = oldSize > 0n ? consistency(this.leaves.slice(0, Number(size)), Number(oldSize)) : [];
      answer(null, create(GetCheckpointResponseSchema, { verifierKey: this.key, consistency: proof }));
    },
  };

  /** Makes an answer of the gate: a pass by a decision that the log gets. `change` is what is different in the decision. */
  answer(id: string, change: MessageInitShape<typeof DecisionSchema> = {}): GetGateStatusResponse {
    const decision = create(DecisionSchema, {
      replayId: id,
      release: "v1",
      set: "s",
      ruling: Ruling.PASS,
      summary: "release passed",
      flipsByClass: { reason: 1n },
      ...change,
    });
    const record = Buffer.from(
      JSON.stringify({ id, decision: Buffer.from(toBinary(DecisionSchema, decision)).toString("base64") }),
    );
    this.add(JSON.stringify({ kind: "decision", subject: id, record: sha256(record).toString("hex") }));
    const index = this.leaves.length - 1;
    return create(GetGateStatusResponseSchema, {
      release: "v1",
      status: Status.PASS,
      checkpoint: this.checkpoint(),
      sets: [
        {
          set: "s",
          status: Status.PASS,
          decision,
          proof: {
            entry: { index: BigInt(index), leaf: this.leaves[index] as Uint8Array },
            size: BigInt(this.leaves.length),
            hashes: inclusion(this.leaves, index),
            record,
          },
        },
      ],
    });
  }
}
