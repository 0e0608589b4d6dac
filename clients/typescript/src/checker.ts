import type { Case } from "./case.js";
import type { Jsonable } from "./json.js";
import type { ParameterDefinitions } from "./parameters.js";

/** A decision. Two are equal only if all their members are. */
export interface Outcome {
  /** A word of the set's vocabulary. */
  readonly verdict: string;
  /** Why. */
  readonly reasonCode?: string;
  /** A whole output document, where the set compares whole records: a value to be written as JSON, or the bytes of one. */
  readonly output?: Jsonable | Uint8Array;
}

/** What a checker says about itself. */
export interface Description<P extends ParameterDefinitions = ParameterDefinitions> {
  /** The checker's name, such as "promotion". */
  readonly name: string;
  /** Its release version. */
  readonly version: string;
  /**
   * Tells builds apart: two that may answer differently must not share one. Default: SHA-256 over the file of the main module, which
   * is the whole build only where that is a bundle.
   */
  readonly buildDigest?: string;
  /** The settings that a run can give. */
  readonly parameters?: P;
  /** The verdicts that it can give; none declares nothing. */
  readonly verdicts?: readonly string[];
  /** The reason codes that it can give; none declares nothing. */
  readonly reasonCodes?: readonly string[];
  /** True if it makes model calls, through Case.stub. */
  readonly callsStubs?: boolean;
  /** The version of the configuration that it decides by. */
  readonly configurationVersion?: string;
}

/** A checker, as defineChecker makes it. */
export interface Checker {
  readonly description: Description;
  check(c: Case): Outcome | Promise<Outcome>;
}

/**
 * Makes a checker of a function. The function decides one case from the case alone, without a clock, randomness or network, so that
 * the same case always gives the same outcome; it may be async. What it throws says that this case cannot be decided, and does
 * not affect the others. The cases of a stream are decided one after the other.
 */
export function defineChecker<const P extends ParameterDefinitions = Record<never, never>>(
  description: Description<P>,
  check: (c: Case<P>) => Outcome | Promise<Outcome>,
): Checker {
  return { description, check: check as (c: Case) => Outcome | Promise<Outcome> };
}
