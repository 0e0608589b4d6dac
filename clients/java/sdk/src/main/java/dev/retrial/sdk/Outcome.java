package dev.retrial.sdk;

import dev.retrial.json.Json;

/**
 * A decision. Two are equal only if all their parts are.
 *
 * @param verdict a word of the set's vocabulary; mandatory
 * @param reasonCode why; may be empty
 * @param output a whole output document, where the set compares whole records; null elsewhere
 */
public record Outcome(String verdict, String reasonCode, Json output) {
  /** Makes a decision without an output document. */
  public static Outcome of(String verdict, String reasonCode) {
    return new Outcome(verdict, reasonCode, null);
  }

  /** Gives the same decision with an output document. */
  public Outcome withOutput(Json document) {
    return new Outcome(verdict, reasonCode, document);
  }
}
