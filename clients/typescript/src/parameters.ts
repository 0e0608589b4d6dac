import { isUtf8 } from "node:buffer";
import { ParameterType } from "./gen/retrial/checker/v1/checker_pb.js";
import { parse, stringify } from "./json.js";
import { excerpt, JsonNumber, numberPattern } from "./number.js";

/** One setting of a checker. */
export interface ParameterDefinition {
  /** The value that is taken where a run gives none. Its type is the parameter's: a bigint takes whole numbers of any size. */
  readonly default: string | boolean | number | bigint;
  /** Whether a number must be whole. Default: it must if the default value is. */
  readonly type?: "integer" | "number";
  /** What it does, in a sentence. */
  readonly description?: string;
}

/** The settings of a checker by name. */
export type ParameterDefinitions = Readonly<Record<string, ParameterDefinition>>;

/** The values of a checker's parameters, each of the type of its default. */
export type ParameterValues<P extends ParameterDefinitions> = {
  readonly [K in keyof P]: Widened<P[K]["default"]>;
};

type Widened<D> = D extends string ? string : D extends boolean ? boolean : D extends number ? number : bigint;

/** Gives the type of a parameter in the contract. A TypeError for a default that a parameter cannot have. */
export function parameterType(name: string, p: ParameterDefinition): ParameterType {
  switch (typeof p?.default) {
    case "string":
      return ParameterType.STRING;
    case "boolean":
      return ParameterType.BOOLEAN;
    case "bigint":
      return ParameterType.INTEGER;
    case "number":
      if (!Number.isFinite(p.default) || (p.type === "integer" && !Number.isInteger(p.default))) {
        break;
      }
      if (p.type === "number" || !Number.isInteger(p.default)) {
        return ParameterType.NUMBER;
      }
      if (Number.isSafeInteger(p.default)) {
        return ParameterType.INTEGER;
      }
      break;
    default:
  }
  throw new TypeError(
    `parameter ${JSON.stringify(name)}: its default must be a string, a boolean, a bigint, a finite number, or a whole one of at most 53 bits`,
  );
}

/** Gives each declared parameter its value: the given one, as JSON, or the default. A TypeError names each that does not fit. */
export function bind(
  definitions: ParameterDefinitions,
  given: ReadonlyMap<string, Uint8Array>,
): ParameterValues<ParameterDefinitions> {
  const errors: string[] = [];
  const out: Record<string, string | boolean | number | bigint> = Object.create(null);
  for (const [name, p] of Object.entries(definitions)) {
    out[name] = p.default;
    const raw = given.get(name);
    const value = raw === undefined ? p.default : read(parameterType(name, p), typeof p.default, raw);
    if (value === undefined) {
      errors.push(
        `parameter ${JSON.stringify(name)}: ${excerpt(Buffer.from(raw ?? []).toString())} is not a value of it`,
      );
      continue;
    }
    out[name] = value;
  }
  for (const name of given.keys()) {
    if (!(name in out)) {
      errors.push(`parameter ${JSON.stringify(excerpt(name))}: the checker takes no such parameter`);
    }
  }
  if (errors.length > 0) {
    throw new TypeError(errors.join("\n"));
  }
  return Object.freeze(out);
}

/** Reads a value, or gives undefined where it is not of the type. */
function read(type: ParameterType, kind: string, raw: Uint8Array): string | boolean | number | bigint | undefined {
  const text = isUtf8(raw) ? Buffer.from(raw).toString() : "";
  if (type === ParameterType.INTEGER || type === ParameterType.NUMBER) {
    return numberPattern.test(text) ? numeric(type, kind, new JsonNumber(text)) : undefined;
  }
  try {
    const value = parse(text);
    return typeof value === kind ? (value as string | boolean) : undefined;
  } catch {
    return undefined;
  }
}

function numeric(type: ParameterType, kind: string, n: JsonNumber): number | bigint | undefined {
  if (type === ParameterType.INTEGER) {
    if (!n.isWhole) {
      return undefined;
    }
    const whole = n.toBigInt();
    if (kind === "bigint") {
      return whole;
    }
    return Number.isSafeInteger(Number(whole)) ? Number(whole) : undefined;
  }
  const value = Number(n.literal);
  return Number.isFinite(value) ? value : undefined;
}

/** Gives the default of a parameter as JSON. */
export function defaultJson(p: ParameterDefinition): Buffer {
  return Buffer.from(stringify(p.default));
}
