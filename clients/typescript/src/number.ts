/** The grammar of a JSON number. */
export const numberPattern = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

const whole = /^-?[0-9]+$/;

/**
 * A number of a JSON document that a JavaScript number would not give back: 9007199254740993, 1.0, 1e2, -0,
 * 0.60000000000000001. It keeps its literal.
 *
 * In comparisons with `<` and `>` it counts as a bigint where it is whole, and as a number elsewhere. `===` holds for no two.
 */
export class JsonNumber {
  constructor(
    /** The number as it is written. */
    readonly literal: string,
  ) {
    if (!numberPattern.test(literal)) {
      throw new TypeError(`${excerpt(literal)} is no JSON number`);
    }
  }

  /** True for a literal without fraction and exponent: 12 and -0, not 12.0. */
  get isWhole(): boolean {
    return whole.test(this.literal);
  }

  /** The nearest number. A RangeError beyond the greatest of them. */
  toNumber(): number {
    const n = Number(this.literal);
    if (!Number.isFinite(n)) {
      throw new RangeError(`${excerpt(this.literal)} is beyond the range of a number`);
    }
    return n;
  }

  /** The exact value of a whole number. A RangeError for any other. */
  toBigInt(): bigint {
    if (!this.isWhole) {
      throw new RangeError(`${excerpt(this.literal)} is no whole number`);
    }
    return BigInt(this.literal);
  }

  toString(): string {
    return this.literal;
  }

  toJSON(): never {
    throw new TypeError("JSON.stringify cannot write a number by its literal: use stringify of @retrial/sdk");
  }

  [Symbol.toPrimitive](hint: string): string | number | bigint {
    if (hint === "string") {
      return this.literal;
    }
    return this.isWhole ? this.toBigInt() : this.toNumber();
  }
}

/** Makes the value of a literal: a number where that gives the same literal back, and a JsonNumber elsewhere. */
export function numberOf(literal: string): number | JsonNumber {
  const n = Number(literal);
  return String(n) === literal ? n : new JsonNumber(literal);
}

/** Gives at most 40 characters of a text, for a message. */
export function excerpt(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
