import { isUtf8 } from "node:buffer";
import { InputError, StubMissingError } from "./errors.js";
import { type JsonObject, type JsonValue, parse, stringify } from "./json.js";
import { excerpt, JsonNumber } from "./number.js";
import type { ParameterDefinitions, ParameterValues } from "./parameters.js";

/** The recorded value of one model call, as JSON. */
export interface Stub {
  readonly call: string;
  readonly value: Uint8Array;
}

/** One decision to make. */
export class Case<P extends ParameterDefinitions = ParameterDefinitions> {
  #input: JsonObject | undefined;
  #used: string[] | undefined;
  #missing: string | undefined;
  #over = false;
  readonly #stubs: readonly Stub[];
  readonly #signal: () => AbortSignal;
  readonly #id: Uint8Array;

  constructor(
    /** The frozen input: one JSON object in UTF-8, in canonical form, scope among its members. */
    readonly raw: Uint8Array,
    stubs: readonly Stub[],
    /** The values of the parameters that the checker declares. */
    readonly parameters: ParameterValues<P>,
    signal: () => AbortSignal,
    /** The varint of its id, as it came. */
    id: Uint8Array = Uint8Array.of(0),
  ) {
    this.#stubs = stubs;
    this.#signal = signal;
    this.#id = id;
  }

  /**
   * An opaque name of the case, another one each time that it is asked. A checker that calls a model endpoint of Retrial by itself
   * can say with it, by the header Retrial-Case, for which case it asks. Nothing else is to be made of it.
   */
  get handle(): string {
    return String(this.#id.reduceRight((id, byte) => (id << 7n) | BigInt(byte & 0x7f), 0n));
  }

  /** Aborted once nobody waits for the answer any more. */
  get signal(): AbortSignal {
    return this.#signal();
  }

  /** The input, parsed. Its numbers lose nothing: see JsonValue. An InputError where it is no JSON object. */
  input(): JsonObject {
    if (this.#input === undefined) {
      const value = read(this.raw, "");
      if (!isObject(value)) {
        throw new InputError("it is no JSON object");
      }
      this.#input = value;
    }
    return this.#input;
  }

  /** One member of the input, such as value("scope", "user_id"); undefined where there is none. */
  value(...path: string[]): JsonValue | undefined {
    let at: JsonValue | undefined = this.input();
    for (const name of path) {
      at = isObject(at) ? at[name] : undefined;
    }
    return at;
  }

  /** A member that must be a string. Here and below, an InputError names a member that is missing, null or of another type. */
  text(...path: string[]): string {
    const value = this.value(...path);
    return typeof value === "string" ? value : unfit(path, value, "a string");
  }

  /** A member that must be an object. */
  object(...path: string[]): JsonObject {
    const value = this.value(...path);
    return isObject(value) ? value : unfit(path, value, "an object");
  }

  /** A member that must be true or false. */
  boolean(...path: string[]): boolean {
    const value = this.value(...path);
    return typeof value === "boolean" ? value : unfit(path, value, "true or false");
  }

  /** A member that must be a number: the nearest double. */
  number(...path: string[]): number {
    const value = this.value(...path);
    if (typeof value === "number") {
      return value;
    }
    const nearest = value instanceof JsonNumber ? Number(value.literal) : Number.NaN;
    return Number.isFinite(nearest) ? nearest : unfit(path, value, "a number");
  }

  /** A member that must be a whole number of at most 53 bits, written without fraction and exponent. */
  integer(...path: string[]): number {
    const n = Number(this.#whole(path, "a whole number of at most 53 bits"));
    return Number.isSafeInteger(n) ? n : unfit(path, this.value(...path), "a whole number of at most 53 bits");
  }

  /** A member that must be a whole number of any size, written without fraction and exponent. */
  bigint(...path: string[]): bigint {
    return this.#whole(path, "a whole number");
  }

  #whole(path: string[], kind: string): bigint {
    const value = this.value(...path);
    if (typeof value === "number" && Number.isInteger(value) && Math.abs(value) < 1e21) {
      return BigInt(value); // from 1e21 on a number's literal has an exponent
    }
    return value instanceof JsonNumber && value.isWhole ? value.toBigInt() : unfit(path, value, kind);
  }

  /**
   * The recorded value of a model call, parsed.
   *
   * Where the case has none, it throws a StubMissingError and the case ends as that, even if the checker goes on to decide it: a
   * missing stub is never answered by a default.
   */
  stub(call: string): JsonValue {
    return read(this.stubBytes(call), `stub ${JSON.stringify(call)}: `);
  }

  /** The recorded value of a model call as JSON. The same conditions hold as for stub. */
  stubBytes(call: string): Uint8Array {
    if (this.#over) {
      throw new Error(
        `the stub ${JSON.stringify(call)} is asked for after the case has ended: a promise was not awaited`,
      );
    }
    const stub = this.#stubs.find((s) => s.call === call);
    if (stub === undefined) {
      this.#missing ??= call;
      throw new StubMissingError(call);
    }
    this.#used ??= [];
    if (!this.#used.includes(call)) {
      this.#used.push(call);
    }
    return stub.value;
  }

  /** @internal Ends the case: gives the first call that had no stub, and those whose stubs were asked for. */
  static end(c: Case): { missing: string | undefined; used: readonly string[] } {
    c.#over = true;
    return { missing: c.#missing, used: c.#used ?? [] };
  }
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber);
}

function read(json: Uint8Array, where: string): JsonValue {
  if (!isUtf8(json)) {
    throw new InputError(`${where}it is no UTF-8`);
  }
  const text = Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString();
  try {
    return parse(text);
  } catch (cause) {
    throw new InputError(`${where}${(cause as Error).message}`, { cause });
  }
}

function unfit(path: readonly string[], value: JsonValue | undefined, kind: string): never {
  const name = JSON.stringify(path.join("."));
  if (value === undefined) {
    throw new InputError(`member ${name} is missing: expected ${kind}`);
  }
  throw new InputError(`member ${name} is ${excerpt(stringify(value))}: expected ${kind}`);
}
