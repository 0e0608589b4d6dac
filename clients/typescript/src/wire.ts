import { isUtf8 } from "node:buffer";
import type { Stub } from "./case.js";
import type { Answer } from "./decide.js";

/**
 * The hot path goes around generated messages: cases are slices of the request, and results are written into one buffer. A test
 * holds both against the generated code. Field numbers as in checker.proto.
 */

/** A CheckRequest. */
export interface Request {
  /** The parameters of `open`; undefined where the request has none. */
  readonly open: ReadonlyMap<string, Uint8Array> | undefined;
  readonly cases: readonly AskedCase[];
}

/** A Case. */
export interface AskedCase {
  /** The varint of its id as it came: it is echoed, and no more. */
  readonly id: Uint8Array;
  readonly input: Uint8Array;
  readonly stubs: readonly Stub[];
}

const none: Uint8Array = new Uint8Array(0);

/** A walk over the fields of a message. Fields of other types than varint and length-delimited are passed over. */
class Walk {
  /** The number of the field that next has found. */
  field = 0;
  /** Its value: that of a length-delimited field, or the bytes of a varint. */
  value: Uint8Array = none;
  private at = 0;

  constructor(private readonly message: Uint8Array) {}

  next(): boolean {
    while (this.at < this.message.length) {
      const tag = this.number();
      this.field = Math.floor(tag / 8);
      if (this.field === 0) {
        malformed();
      }
      const start = this.at;
      switch (tag % 8) {
        case 0:
          this.varint();
          this.value = this.message.subarray(start, this.at);
          return true;
        case 2: {
          const length = this.number();
          this.value = this.take(length);
          return true;
        }
        case 1:
          this.take(8);
          break;
        case 5:
          this.take(4);
          break;
        default: // groups, which proto3 does not have
          malformed();
      }
    }
    return false;
  }

  private take(length: number): Uint8Array {
    const end = this.at + length;
    if (end > this.message.length) {
      malformed();
    }
    const out = this.message.subarray(this.at, end);
    this.at = end;
    return out;
  }

  /** Passes over a varint of at most 64 bits. */
  private varint(): void {
    for (let n = 0; n < 10; n++) {
      const b = this.message[this.at++];
      if (b === undefined) {
        malformed();
      }
      if (b < 0x80) {
        return;
      }
    }
    malformed();
  }

  /** Reads a tag or a length. What is beyond 32 bits is beyond any message. */
  private number(): number {
    let out = 0;
    for (let factor = 1; factor <= 0x10000000; factor *= 0x80) {
      const b = this.message[this.at++];
      if (b === undefined) {
        malformed();
      }
      out += (b & 0x7f) * factor;
      if (b < 0x80) {
        return out;
      }
    }
    malformed();
  }
}

function malformed(): never {
  throw new TypeError("malformed message");
}

/** Reads a CheckRequest. A TypeError for what is none. */
export function readRequest(message: Uint8Array): Request {
  let open: Map<string, Uint8Array> | undefined;
  const cases: AskedCase[] = [];
  const w = new Walk(message);
  while (w.next()) {
    if (w.field === 1) {
      open = readOpen(w.value);
    } else if (w.field === 2) {
      cases.push(readCase(w.value));
    }
  }
  return { open, cases };
}

function readOpen(message: Uint8Array): Map<string, Uint8Array> {
  const out = new Map<string, Uint8Array>();
  const w = new Walk(message);
  while (w.next()) {
    if (w.field === 1) {
      const [name, value] = readPair(w.value);
      out.set(name, value);
    }
  }
  return out;
}

function readCase(message: Uint8Array): AskedCase {
  let id: Uint8Array = Uint8Array.of(0);
  let input = none;
  const stubs: Stub[] = [];
  const w = new Walk(message);
  while (w.next()) {
    switch (w.field) {
      case 1:
        id = w.value;
        break;
      case 2:
        input = w.value;
        break;
      case 3: {
        const [call, value] = readPair(w.value);
        stubs.push({ call, value });
        break;
      }
      default:
    }
  }
  return { id, input, stubs };
}

/** Reads a message of a text and bytes: a Stub, or an entry of a map. */
function readPair(message: Uint8Array): [string, Uint8Array] {
  let text = none;
  let value = none;
  const w = new Walk(message);
  while (w.next()) {
    if (w.field === 1) {
      text = w.value;
    } else if (w.field === 2) {
      value = w.value;
    }
  }
  if (!isUtf8(text)) {
    malformed();
  }
  return [Buffer.from(text.buffer, text.byteOffset, text.byteLength).toString(), value];
}

const firstBytes = 16 << 10;

/** Outcomes without an output are few and short: their bytes are kept, as long as they are. */
const maxOutcomes = 1024;
const maxWord = 256;

/** A CheckResponse on its way out. */
export class Results {
  private buffer = Buffer.allocUnsafe(firstBytes);
  /** How many bytes there are. */
  size = 0;
  private readonly outcomes = new Map<string, Map<string, Uint8Array>>();

  /** Appends the result of one case. */
  add(id: Uint8Array, a: Answer): void {
    const answer = a.outcome === undefined ? errorBody(a) : this.outcome(a.outcome);
    const used = a.stubsUsed.map((call) => Buffer.from(call));
    let body = 1 + id.length + prefixed(answer.length);
    for (const call of used) {
      body += prefixed(call.length);
    }
    this.room(prefixed(body));
    this.head(1, body);
    this.buffer[this.size++] = 0x08; // case_id
    this.bytes(id);
    this.head(a.outcome === undefined ? 3 : 2, answer.length);
    this.bytes(answer);
    for (const call of used) {
      this.head(4, call.length);
      this.bytes(call);
    }
  }

  /** Gives the message, and begins the next one. */
  take(): Buffer {
    const out = this.buffer.subarray(0, this.size);
    this.buffer = Buffer.allocUnsafe(firstBytes); // what was given may not have been sent yet
    this.size = 0;
    return out;
  }

  /** Gives the bytes of an outcome. */
  private outcome(o: NonNullable<Answer["outcome"]>): Uint8Array {
    if (o.output !== undefined || o.verdict.length + o.reasonCode.length > maxWord) {
      return fields([1, Buffer.from(o.verdict)], [2, Buffer.from(o.reasonCode)], [3, o.output ?? none]);
    }
    let reasons = this.outcomes.get(o.verdict);
    const known = reasons?.get(o.reasonCode);
    if (known !== undefined) {
      return known;
    }
    const body = fields([1, Buffer.from(o.verdict)], [2, Buffer.from(o.reasonCode)]);
    if (reasons === undefined && this.outcomes.size < maxOutcomes) {
      reasons = new Map();
      this.outcomes.set(o.verdict, reasons);
    }
    if (reasons !== undefined && reasons.size < maxOutcomes) {
      reasons.set(o.reasonCode, body);
    }
    return body;
  }

  private room(n: number): void {
    const needed = this.size + n;
    if (needed > this.buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.buffer.length));
      this.buffer.copy(larger, 0, 0, this.size);
      this.buffer = larger;
    }
  }

  private head(field: number, length: number): void {
    this.buffer[this.size++] = (field << 3) | 2;
    this.size = putVarint(this.buffer, this.size, length);
  }

  private bytes(b: Uint8Array): void {
    this.buffer.set(b, this.size);
    this.size += b.length;
  }
}

/** The size of a length-delimited field whose number is below 16. */
function prefixed(length: number): number {
  let n = 2;
  for (let rest = length; rest >= 0x80; rest >>>= 7) {
    n++;
  }
  return n + length;
}

function putVarint(to: Uint8Array, at: number, n: number): number {
  let end = at;
  let rest = n;
  for (; rest >= 0x80; rest >>>= 7) {
    to[end++] = (rest & 0x7f) | 0x80;
  }
  to[end++] = rest;
  return end;
}

function errorBody({ error }: Answer): Uint8Array {
  const code = Uint8Array.of(0x08, error?.code ?? 0);
  return Buffer.concat([code, fields([2, Buffer.from(error?.message ?? "")], [3, Buffer.from(error?.call ?? "")])]);
}

/** Writes length-delimited fields; what is empty is left out, as proto3 does. */
function fields(...list: [number, Uint8Array][]): Uint8Array {
  const given = list.filter(([, value]) => value.length > 0);
  const out = Buffer.allocUnsafe(given.reduce((size, [, value]) => size + prefixed(value.length), 0));
  let at = 0;
  for (const [field, value] of given) {
    out[at++] = (field << 3) | 2;
    at = putVarint(out, at, value.length);
    out.set(value, at);
    at += value.length;
  }
  return out;
}
