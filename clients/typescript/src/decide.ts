import { Case, type Stub } from "./case.js";
import type { Checker, Outcome } from "./checker.js";
import { bounded, explain, InputError, StubMissingError } from "./errors.js";
import { CaseErrorCode } from "./gen/retrial/checker/v1/checker_pb.js";
import { type Jsonable, stringify } from "./json.js";
import { bind } from "./parameters.js";

/** How a case ended: with an outcome or an error, never with both. */
export interface Answer {
  readonly outcome?: { readonly verdict: string; readonly reasonCode: string; readonly output: Uint8Array | undefined };
  readonly error?: { readonly code: CaseErrorCode; readonly message: string; readonly call: string };
  /** The calls whose stubs the checker asked for, each once. */
  readonly stubsUsed: readonly string[];
}

/** Has a checker decide a case. It never throws and never rejects; it gives a promise only where the checker does. */
export function decide(checker: Checker, c: Case): Answer | Promise<Answer> {
  let given: Outcome | Promise<Outcome>;
  try {
    given = checker.check(c);
    if (typeof (given as { then?: unknown } | undefined)?.then === "function") {
      return Promise.resolve(given).then(
        (outcome) => answer(c, outcome),
        (thrown: unknown) => failed(c, thrown),
      );
    }
  } catch (thrown) {
    return failed(c, thrown);
  }
  return answer(c, given as Outcome);
}

function answer(c: Case, given: Outcome): Answer {
  let outcome: Answer["outcome"];
  try {
    outcome = sound(given);
  } catch (thrown) {
    return failed(c, thrown);
  }
  const { missing, used } = Case.end(c);
  return missing === undefined ? { outcome, stubsUsed: used } : missingStub(missing, used);
}

/** A stub that was missing decides, whatever the checker made of it. */
function missingStub(call: string, stubsUsed: readonly string[]): Answer {
  const { message } = new StubMissingError(call);
  return { error: { code: CaseErrorCode.STUB_MISSING, message: bounded(message), call: bounded(call) }, stubsUsed };
}

function failed(c: Case, thrown: unknown): Answer {
  const { missing, used } = Case.end(c);
  if (missing !== undefined) {
    return missingStub(missing, used);
  }
  if (thrown instanceof InputError) {
    return {
      error: { code: CaseErrorCode.INVALID_INPUT, message: bounded(`input: ${thrown.message}`), call: "" },
      stubsUsed: used,
    };
  }
  return { error: { code: CaseErrorCode.INTERNAL, message: explain(thrown), call: "" }, stubsUsed: used };
}

/** Holds an outcome against what one is: an author's code can give anything. */
function sound(given: Outcome): NonNullable<Answer["outcome"]> {
  const { verdict, reasonCode = "", output } = given ?? { verdict: "" };
  if (typeof verdict !== "string" || verdict === "") {
    throw new TypeError("the checker gave no verdict");
  }
  if (typeof reasonCode !== "string" || !verdict.isWellFormed() || !reasonCode.isWellFormed()) {
    throw new TypeError("a verdict and a reason code are well-formed strings");
  }
  return { verdict, reasonCode, output: output === undefined ? undefined : bytesOf(output) };
}

function bytesOf(output: Jsonable | Uint8Array): Uint8Array {
  return output instanceof Uint8Array ? output : Buffer.from(stringify(output));
}

/** What a trial case is made of. */
export interface Trial {
  /** The frozen input: a JSON text, its bytes, or a value to be written as JSON. */
  readonly input: string | Uint8Array | { readonly [name: string]: Jsonable | undefined };
  /** The recorded values of model calls by call, to be written as JSON. */
  readonly stubs?: Readonly<Record<string, Jsonable>>;
  /** The values of parameters by name, to be written as JSON. */
  readonly parameters?: Readonly<Record<string, Jsonable>>;
}

/** Has a checker decide one case as a host would, for its unit test. It rejects only for parameters that do not fit. */
export async function tryCase(checker: Checker, trial: Trial): Promise<Answer> {
  const { input } = trial;
  const raw = input instanceof Uint8Array ? input : Buffer.from(typeof input === "string" ? input : stringify(input));
  const stubs: Stub[] = entries(trial.stubs).map(([call, value]) => ({ call, value }));
  const parameters = bind(checker.description.parameters ?? {}, new Map(entries(trial.parameters)));
  const { signal } = new AbortController();
  return decide(checker, new Case(raw, stubs, parameters, () => signal));
}

function entries(of: Readonly<Record<string, Jsonable>> | undefined): [string, Uint8Array][] {
  return Object.entries(of ?? {}).map(([name, value]) => [name, Buffer.from(stringify(value))]);
}
