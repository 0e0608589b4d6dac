package dev.retrial.promotion;

import dev.retrial.json.Json;
import dev.retrial.sdk.Case;
import dev.retrial.sdk.InputException;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.Arrays;
import java.util.Map;

/**
 * What the rules read of the input. Other members, such as source_event_id, are there for people.
 *
 * @param scope where the claim would be remembered: keys such as user_id, with their values
 * @param own where it was made
 * @param ageDays its age when it was decided, in whole days since its acceptance; not negative
 * @param promotedBefore whether the memory already held this claim in this scope
 * @param acceptedAt when this application took the claim in
 * @param competingAcceptedAt when it took in the claim that the memory holds about the same thing; null if there is none
 * @param score the extraction's confidence in the claim, from 0 to 1, computed before the decision
 * @param occurrences how often the claim was observed; at least 1
 * @param oneSource whether the observations depend on each other, such as the copies of a forwarded message
 */
record Claim(
    Map<String, Json> scope,
    Map<String, Json> own,
    long ageDays,
    boolean promotedBefore,
    Instant acceptedAt,
    Instant competingAcceptedAt,
    double score,
    long occurrences,
    boolean oneSource) {

  /** Reads the input of a case. An InputException names the first member that is missing or not usable. */
  static Claim read(Case c) {
    Map<String, Json> scope = keys(c, "scope");
    Map<String, Json> own = keys(c, "claim_scope");
    if (c.text("claim_text").isEmpty()) {
      throw new InputException("claim_text: empty"); // the classification would have nothing to read
    }
    return new Claim(
        scope,
        own,
        atLeast(0, c, "age_days_at_decision"),
        c.bool("promoted_before"),
        times(c),
        c.isNull("competing") ? null : times(c, "competing"),
        score(c),
        atLeast(1, c, "occurrence_count"),
        !c.isNull("dependency_group") && c.text("dependency_group") != null);
  }

  /**
   * Reads both times of a claim and gives the one that the rules may use. What a source says about when something happened is part of
   * the record and has to be an instant, but it orders nothing: whoever writes the source could win every conflict with a date in the
   * future.
   */
  private static Instant times(Case c, String... of) {
    instant(c, path(of, "event_time"));
    return instant(c, path(of, "accepted_at"));
  }

  private static String[] path(String[] of, String name) {
    String[] path = Arrays.copyOf(of, of.length + 1);
    path[of.length] = name;
    return path;
  }

  private static Instant instant(Case c, String... path) {
    try {
      return Rfc3339.instant(c.text(path));
    } catch (DateTimeException e) {
      throw new InputException(String.join(".", path) + ": it is not an instant such as 2026-02-14T09:12:00Z", e);
    }
  }

  /** Reads an object of strings that has at least one: a scope without keys would fit everywhere. */
  private static Map<String, Json> keys(Case c, String name) {
    Map<String, Json> members = c.object(name).members();
    if (members.isEmpty() || !members.values().stream().allMatch(Json.Str.class::isInstance)) {
      throw new InputException(name + ": expected an object of strings that has keys");
    }
    return members;
  }

  private static long atLeast(long least, Case c, String name) {
    long n = c.integer(name);
    if (n < least) {
      throw new InputException(name + ": below " + least);
    }
    return n;
  }

  private static double score(Case c) {
    double n = c.number("score");
    if (n < 0 || n > 1) {
      throw new InputException("score: not between 0 and 1");
    }
    return n;
  }

  /**
   * Says that the claim would be remembered nowhere but where it was made: each of its own keys binds. A claim made by a user in any
   * workspace fits into one workspace; one made in a project does not fit a whole workspace.
   */
  boolean inScope() {
    return scope.entrySet().containsAll(own.entrySet());
  }

  /**
   * Says that the memory holds a claim about the same thing that was accepted later. Of two that were accepted at the same instant, the
   * one that is already held stays.
   */
  boolean superseded() {
    return competingAcceptedAt != null && !acceptedAt.isAfter(competingAcceptedAt);
  }

  /** Counts observations that depend on each other once: repeating a thing does not confirm it. */
  long independentObservations() {
    return oneSource ? 1 : occurrences;
  }
}
