import { isUtf8 } from "node:buffer";
import { createHash, createPublicKey, verify } from "node:crypto";
import type { Tree } from "./tree.js";

/** A public key in the form of golang.org/x/mod/sumdb/note: name+hash+base64 of the algorithm and the key. */
export interface Verifier {
  readonly name: string;
  /** The first four bytes of a signature by it. */
  readonly hash: Buffer;
  verify(text: Uint8Array, signature: Uint8Array): boolean;
}

const algorithmEd25519 = 1;
const maxSignatures = 100;

/** What stands before an Ed25519 key in its SubjectPublicKeyInfo. */
const spkiPrefix = Buffer.from("302a300506032b6570032100", "hex");

/** Reads a verifier's key. A TypeError for what is none. */
export function verifierOf(text: string): Verifier {
  const [name = "", hash = "", encoded] = cut3(text);
  const key = base64(encoded);
  if (!/^[0-9a-fA-F]{8}$/.test(hash) || key === undefined || key.length !== 33 || !isName(name)) {
    throw new TypeError("malformed verifier key");
  }
  const expected = createHash("sha256").update(`${name}\n`).update(key).digest().subarray(0, 4);
  if (expected.toString("hex") !== hash.toLowerCase()) {
    throw new TypeError("the hash of the verifier key is not that of its name and key");
  }
  if (key[0] !== algorithmEd25519) {
    throw new TypeError("the verifier key is of an unknown algorithm");
  }
  const publicKey = createPublicKey({ key: Buffer.concat([spkiPrefix, key.subarray(1)]), format: "der", type: "spki" });
  return { name, hash: expected, verify: (message, signature) => verify(null, message, publicKey, signature) };
}

function cut3(text: string): [string, string, string] {
  const first = text.indexOf("+");
  const second = text.indexOf("+", first + 1);
  return first < 0 || second < 0
    ? ["", "", ""]
    : [text.slice(0, first), text.slice(first + 1, second), text.slice(second + 1)];
}

function isName(name: string): boolean {
  return name !== "" && name.isWellFormed() && !/[\s\u0085+]/u.test(name);
}

/** Decodes base64 as it is encoded: padded, nothing around it, no bit to spare. Undefined for anything else. */
export function base64(text: string): Buffer | undefined {
  const out = Buffer.from(text, "base64");
  return out.toString("base64") === text ? out : undefined;
}

/** Verifies a signed note and gives its text. A TypeError for what is none, or is not signed by the key. */
export function openNote(note: Uint8Array, verifier: Verifier): string {
  const message = Buffer.from(note);
  const text = message.toString();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a note must not have
  if (!isUtf8(message) || /[\u0000-\u0009\u000b-\u001f]/.test(text)) {
    throw new TypeError("malformed note: it is no text");
  }
  const at = text.lastIndexOf("\n\n");
  const signatures = text.slice(at + 2);
  if (at < 0 || !signatures.endsWith("\n")) {
    throw new TypeError("malformed note: it is not signed");
  }
  const signed = text.slice(0, at + 1);
  const lines = signatures.slice(0, -1).split("\n");
  if (lines.length > maxSignatures || !lines.map((line) => holds(line, signed, verifier)).includes(true)) {
    throw new TypeError("the note has no signature by the key");
  }
  return signed;
}

/** Says whether a line is a signature by the key; one that claims to be and is not is an error. */
function holds(line: string, signed: string, verifier: Verifier): boolean {
  const [, name = "", encoded = ""] = /^— ([^ ]*) (.*)$/su.exec(line) ?? [];
  const signature = base64(encoded);
  if (signature === undefined || signature.length < 5 || !isName(name)) {
    throw new TypeError("malformed note: a line is no signature");
  }
  if (name !== verifier.name || !signature.subarray(0, 4).equals(verifier.hash)) {
    return false;
  }
  if (!verifier.verify(Buffer.from(signed), signature.subarray(4))) {
    throw new TypeError("a signature of the note does not hold");
  }
  return true;
}

/** Verifies a checkpoint of a log (https://c2sp.org/tlog-checkpoint) and reads it. A TypeError for what is none. */
export function openCheckpoint(note: Uint8Array, verifier: Verifier): Tree {
  const [origin, size, root, ...rest] = openNote(note, verifier).split("\n");
  const hash = base64(root ?? "");
  const n = Number(size);
  if (
    rest.length !== 1 ||
    rest[0] !== "" ||
    !Number.isSafeInteger(n) ||
    n < 0 ||
    String(n) !== size ||
    hash?.length !== 32
  ) {
    throw new TypeError("malformed checkpoint");
  }
  if (origin !== verifier.name) {
    throw new TypeError(
      `the checkpoint is of log ${JSON.stringify(origin)}, the key of ${JSON.stringify(verifier.name)}`,
    );
  }
  return { size: n, root: hash };
}
