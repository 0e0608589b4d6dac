package dev.retrial.promotion;

import dev.retrial.json.Json;
import dev.retrial.sdk.Case;
import dev.retrial.sdk.Checker;
import dev.retrial.sdk.Description;
import dev.retrial.sdk.InputException;
import dev.retrial.sdk.Outcome;
import dev.retrial.sdk.Parameters;

/**
 * The rules of clients/checkers/promotion/rules, where they are explained. They are tried in their order, and the first that applies
 * decides.
 */
final class Promotion implements Checker {
  private static final String PREFERENCE_OR_FACT = "preference_or_fact";

  @Override
  public Description describe() {
    return Description.of("promotion", "1.0.0")
        .parameter("max_age_days", 30, "The greatest age, in whole days at the time of the decision, at which a claim is not yet stale.")
        .parameter("min_score", 0.6, "The lowest score, from 0 to 1, with which a claim is promoted.")
        .parameter("min_occurrences", 2, "How often a claim must have been observed to be promoted.")
        .parameter("min_fact_occurrences", 3, "How many independent observations corroborate a fact.")
        .verdicts("promoted", "dropped")
        .reasonCodes(
            "scope_mismatch",
            "stale",
            "already_promoted",
            "superseded",
            "below_threshold",
            "preference",
            "fact",
            "uncorroborated_fact")
        .callsStubs()
        .configurationVersion("promotion-queue/2026-02")
        .build();
  }

  @Override
  public Outcome check(Case c) {
    // The whole input is read before the first rule, so that one that is not usable is an error whichever rule would have decided.
    Claim claim = Claim.read(c);
    Parameters p = c.parameters();
    if (!claim.inScope()) {
      return dropped("scope_mismatch");
    }
    if (claim.ageDays() > p.integer("max_age_days")) {
      return dropped("stale");
    }
    if (claim.promotedBefore()) {
      return dropped("already_promoted");
    }
    if (claim.superseded()) {
      return dropped("superseded");
    }
    if (claim.score() < p.number("min_score") || claim.occurrences() < p.integer("min_occurrences")) {
      return dropped("below_threshold");
    }
    Json answer = c.stub(PREFERENCE_OR_FACT);
    if (answer.equals(Json.of("preference"))) {
      return promoted("preference");
    }
    if (!answer.equals(Json.of("fact"))) {
      throw new InputException("stub \"" + PREFERENCE_OR_FACT + "\": expected \"preference\" or \"fact\"");
    }
    return claim.independentObservations() < p.integer("min_fact_occurrences") ? dropped("uncorroborated_fact") : promoted("fact");
  }

  private static Outcome dropped(String reasonCode) {
    return Outcome.of("dropped", reasonCode);
  }

  private static Outcome promoted(String reasonCode) {
    return Outcome.of("promoted", reasonCode);
  }
}
