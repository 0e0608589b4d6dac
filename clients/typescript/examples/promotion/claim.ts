import { type Case, InputError, type JsonObject } from "@retrial/sdk";
import { type Instant, instant, isAfter } from "./instant.js";

/** What the rules read of the input. Other members, such as source_event_id, are there for people. */
export interface Claim {
  /** Where the claim would be remembered, and where it was made. Keys such as user_id, with their values. */
  readonly scope: JsonObject;
  readonly own: JsonObject;
  /** Its age when it was decided, in whole days since its acceptance. Not negative. */
  readonly ageDays: bigint;
  /** Whether the memory already held this claim in this scope. */
  readonly promotedBefore: boolean;
  /** When this application took the claim in. */
  readonly acceptedAt: Instant;
  /** When it took in the claim that the memory holds about the same thing; null if there is none. */
  readonly competingAcceptedAt: Instant | null;
  /** The extraction's confidence in the claim, from 0 to 1, computed before the decision. */
  readonly score: number;
  /** How often the claim was observed. At least 1. */
  readonly occurrences: bigint;
  /** Whether the observations depend on each other, such as the copies of a forwarded message. */
  readonly oneSource: boolean;
}

/** Reads the input of a case. An InputError names the first member that is missing or not usable. */
export function readClaim(c: Case): Claim {
  const scope = keys(c, "scope");
  const own = keys(c, "claim_scope");
  if (c.text("claim_text") === "") {
    throw new InputError("claim_text: empty"); // the classification would have nothing to read
  }
  return {
    scope,
    own,
    ageDays: whole(c, "age_days_at_decision", 0n),
    promotedBefore: c.boolean("promoted_before"),
    acceptedAt: times(c),
    competingAcceptedAt: c.value("competing") === null ? null : times(c, "competing"),
    score: score(c),
    occurrences: whole(c, "occurrence_count", 1n),
    oneSource: c.value("dependency_group") !== null && c.text("dependency_group") !== undefined,
  };
}

/**
 * Reads both times of a claim and gives the one that the rules may use. What a source says about when something happened is part of
 * the record and has to be an instant, but it orders nothing: whoever writes the source could win every conflict with a date in
 * the future.
 */
function times(c: Case, ...of: string[]): Instant {
  instant("event_time", c.text(...of, "event_time"));
  return instant("accepted_at", c.text(...of, "accepted_at"));
}

/** Reads an object of strings that has at least one: a scope without keys would fit everywhere. */
function keys(c: Case, name: string): JsonObject {
  const value = c.object(name);
  const members = Object.values(value);
  if (members.length === 0 || members.some((member) => typeof member !== "string")) {
    throw new InputError(`${name}: expected an object of strings that has keys`);
  }
  return value;
}

/** Reads a whole number of 64 bits. */
function whole(c: Case, name: string, least: bigint): bigint {
  const n = c.bigint(name);
  if (n < least || n > 9223372036854775807n) {
    throw new InputError(`${name}: below ${least}, or over 64 bits`);
  }
  return n;
}

function score(c: Case): number {
  const n = c.number("score");
  if (n < 0 || n > 1) {
    throw new InputError("score: not between 0 and 1");
  }
  return n;
}

/**
 * Says that the claim would be remembered nowhere but where it was made: each of its own keys binds. A claim made by a user in any
 * workspace fits into one workspace; one made in a project does not fit a whole workspace.
 */
export function inScope({ own, scope }: Claim): boolean {
  return Object.entries(own).every(([key, value]) => scope[key] === value);
}

/**
 * Says that the memory holds a claim about the same thing that was accepted later. Of two that were accepted at the same instant,
 * the one that is already held stays.
 */
export function superseded({ acceptedAt, competingAcceptedAt }: Claim): boolean {
  return competingAcceptedAt !== null && !isAfter(acceptedAt, competingAcceptedAt);
}

/** Counts observations that depend on each other once: repeating a thing does not confirm it. */
export function independentObservations({ oneSource, occurrences }: Claim): bigint {
  return oneSource ? 1n : occurrences;
}
