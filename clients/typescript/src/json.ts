import { excerpt, JsonNumber, numberOf } from "./number.js";

/** A JSON value. A number is a `number` where that has the very literal of the document, and a JsonNumber elsewhere. */
export type JsonValue = null | boolean | number | JsonNumber | string | JsonValue[] | JsonObject;

/** A JSON object. It has no prototype: a member named `__proto__` is one as any other. */
export interface JsonObject {
  [name: string]: JsonValue;
}

/** What stringify writes. */
export type Jsonable = null | boolean | number | bigint | JsonNumber | string | readonly Jsonable[] | JsonableObject;

/** An object that stringify writes; members that are undefined are left out. */
export interface JsonableObject {
  readonly [name: string]: Jsonable | undefined;
}

/** How deep arrays and objects may nest: what a host admits as well. */
const maxDepth = 128;

const numbers = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a string must not hold
const control = /[\u0000-\u001f]/;

/**
 * Parses a JSON text without losing anything of its numbers. A SyntaxError for what is no JSON, for an object that has a
 * member twice, for a lone surrogate, for a number beyond the range of a double that is not whole, and for nesting deeper than 128.
 */
export function parse(text: string): JsonValue {
  return new Parser(text).document();
}

class Parser {
  private at = 0;
  private depth = 0;
  /** Whether there is a control character in the text: outside strings it can be white space. */
  private readonly hasControls: boolean;

  constructor(private readonly text: string) {
    this.hasControls = control.test(text);
    if (!text.isWellFormed()) {
      this.fail("a lone surrogate somewhere");
    }
  }

  document(): JsonValue {
    const value = this.value();
    this.space();
    if (this.at < this.text.length) {
      this.fail("trailing data");
    }
    return value;
  }

  private fail(what: string): never {
    throw new SyntaxError(`no JSON: ${what} at character ${this.at}`);
  }

  private space(): void {
    for (;;) {
      const c = this.text.charCodeAt(this.at);
      if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) {
        return;
      }
      this.at++;
    }
  }

  private value(): JsonValue {
    this.space();
    switch (this.text[this.at]) {
      case "{":
        return this.object();
      case "[":
        return this.array();
      case '"':
        return this.string();
      case "t":
        return this.word("true", true);
      case "f":
        return this.word("false", false);
      case "n":
        return this.word("null", null);
      default:
        return this.number();
    }
  }

  private word<T>(word: string, value: T): T {
    if (!this.text.startsWith(word, this.at)) {
      this.fail("unexpected characters");
    }
    this.at += word.length;
    return value;
  }

  private number(): number | JsonNumber {
    numbers.lastIndex = this.at;
    const literal = numbers.exec(this.text)?.[0];
    if (literal === undefined) {
      this.fail("expected a value");
    }
    const value = numberOf(literal);
    if (value instanceof JsonNumber && !value.isWhole && !Number.isFinite(Number(literal))) {
      this.fail("a number beyond the range of a double");
    }
    this.at += literal.length;
    return value;
  }

  private string(): string {
    const start = ++this.at;
    const end = this.text.indexOf('"', start);
    const value = this.text.slice(start, end);
    if (end < 0 || value.includes("\\")) {
      return this.escaped(start);
    }
    if (this.hasControls && control.test(value)) {
      this.fail("a control character in a string");
    }
    this.at = end + 1;
    return value;
  }

  /** Reads a string that has escapes: finds its end, and leaves the rest to JSON.parse. */
  private escaped(start: number): string {
    let end = start;
    for (;;) {
      const c = this.text[end];
      if (c === undefined) {
        this.fail("a string without end");
      }
      if (c === '"') {
        break;
      }
      end += c === "\\" ? 2 : 1;
    }
    let value: string;
    try {
      value = JSON.parse(this.text.slice(start - 1, end + 1)) as string;
    } catch {
      this.fail("a malformed string");
    }
    if (!value.isWellFormed()) {
      this.fail("an escaped lone surrogate in a string");
    }
    this.at = end + 1;
    return value;
  }

  private enter(): void {
    if (++this.depth > maxDepth) {
      this.fail(`nesting deeper than ${maxDepth}`);
    }
    this.at++;
    this.space();
  }

  /** Takes a comma, or what closes an array or object; says whether it was the latter. */
  private closes(by: string): boolean {
    this.space();
    const c = this.text[this.at];
    if (c !== by && c !== ",") {
      this.fail(`expected "," or "${by}"`);
    }
    this.at++;
    return c === by;
  }

  private array(): JsonValue[] {
    this.enter();
    const out: JsonValue[] = [];
    if (this.text[this.at] === "]") {
      this.at++;
    } else {
      do {
        out.push(this.value());
      } while (!this.closes("]"));
    }
    this.depth--;
    return out;
  }

  private object(): JsonObject {
    this.enter();
    const out: JsonObject = Object.create(null);
    if (this.text[this.at] === "}") {
      this.at++;
    } else {
      do {
        this.member(out);
      } while (!this.closes("}"));
    }
    this.depth--;
    return out;
  }

  private member(of: JsonObject): void {
    this.space();
    if (this.text[this.at] !== '"') {
      this.fail("expected a name");
    }
    const name = this.string();
    if (name in of) {
      this.fail(`the member "${excerpt(name)}" a second time`);
    }
    this.space();
    if (this.text[this.at] !== ":") {
      this.fail('expected ":"');
    }
    this.at++;
    of[name] = this.value();
  }
}

/**
 * Writes a value as JSON: numbers by their literal, bigints as whole numbers, members in their order. A TypeError for what has no
 * place in a document: NaN, infinities, undefined in an array, functions, symbols, lone surrogates, and objects of a class.
 */
export function stringify(value: Jsonable): string {
  switch (typeof value) {
    case "string":
      if (!value.isWellFormed()) {
        throw new TypeError("a string with a lone surrogate has no place in a JSON document");
      }
      return JSON.stringify(value);
    case "boolean":
    case "bigint":
      return String(value);
    case "number":
      if (Number.isFinite(value)) {
        return String(value);
      }
      break;
    case "object":
      return value === null ? "null" : container(value);
    default:
  }
  throw new TypeError(`${String(value)} has no place in a JSON document`);
}

function container(value: JsonNumber | readonly Jsonable[] | JsonableObject): string {
  if (value instanceof JsonNumber) {
    return value.literal;
  }
  if (Array.isArray(value)) {
    return `[${value.map(stringify).join(",")}]`;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) {
    throw new TypeError("an object of a class has no place in a JSON document");
  }
  const members = Object.entries(value as JsonableObject).filter((m): m is [string, Jsonable] => m[1] !== undefined);
  return `{${members.map(([name, member]) => `${stringify(name)}:${stringify(member)}`).join(",")}}`;
}
