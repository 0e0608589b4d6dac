// A reference checker: it decides whether a claim is promoted into long-term memory or dropped. The rules are those of
// clients/checkers/promotion/rules, where they are explained; they are tried in the order below, and the first that applies decides.
import { defineChecker, InputError, type Outcome, serve } from "@retrial/sdk";
import { independentObservations, inScope, readClaim, superseded } from "./promotion/claim.js";

const dropped = (reasonCode: string): Outcome => ({ verdict: "dropped", reasonCode });
const promoted = (reasonCode: string): Outcome => ({ verdict: "promoted", reasonCode });

const checker = defineChecker(
  {
    name: "promotion",
    version: "1.0.0",
    parameters: {
      max_age_days: {
        default: 30,
        description: "The greatest age, in whole days at the time of the decision, at which a claim is not yet stale.",
      },
      min_score: { default: 0.6, description: "The lowest score, from 0 to 1, with which a claim is promoted." },
      min_occurrences: { default: 2, description: "How often a claim must have been observed to be promoted." },
      min_fact_occurrences: { default: 3, description: "How many independent observations corroborate a fact." },
    },
    verdicts: ["promoted", "dropped"],
    reasonCodes: [
      "scope_mismatch",
      "stale",
      "already_promoted",
      "superseded",
      "below_threshold",
      "preference",
      "fact",
      "uncorroborated_fact",
    ],
    callsStubs: true,
    configurationVersion: "promotion-queue/2026-02",
  },
  (c) => {
    // The whole input is read before the first rule, so that one that is not usable is an InputError whichever rule would have decided.
    const claim = readClaim(c);
    const p = c.parameters;
    if (!inScope(claim)) {
      return dropped("scope_mismatch");
    }
    if (claim.ageDays > p.max_age_days) {
      return dropped("stale");
    }
    if (claim.promotedBefore) {
      return dropped("already_promoted");
    }
    if (superseded(claim)) {
      return dropped("superseded");
    }
    if (claim.score < p.min_score || claim.occurrences < p.min_occurrences) {
      return dropped("below_threshold");
    }
    switch (c.stub("preference_or_fact")) {
      case "preference":
        return promoted("preference");
      case "fact":
        return independentObservations(claim) < p.min_fact_occurrences
          ? dropped("uncorroborated_fact")
          : promoted("fact");
      default:
        throw new InputError('stub "preference_or_fact": expected "preference" or "fact"');
    }
  },
);

await serve(checker);
