package dev.retrial.sdk;

import java.util.List;

/**
 * How a case ended: with an outcome or a failure, never with both.
 *
 * @param outcome the decision, or null
 * @param failure why there is none, or null
 * @param stubsUsed the calls whose stubs the checker asked for, each once
 */
public record Answer(Outcome outcome, Failure failure, List<String> stubsUsed) {
  /** The kind of a failure. */
  public enum Code {
    /** The checker failed. */
    INTERNAL,
    /** The input is not one that the checker can read. */
    INVALID_INPUT,
    /** The checker asked for a stub that the case does not carry. */
    STUB_MISSING
  }

  /**
   * Why a case was not decided.
   *
   * @param message what happened, for a person; at most 2 KiB
   * @param call the call that has no stub, for STUB_MISSING; empty elsewhere
   */
  public record Failure(Code code, String message, String call) {}

  /** Has a checker decide a case. It never throws. */
  static Answer of(Checker checker, Case c) {
    Outcome outcome = null;
    Failure failure = null;
    try {
      outcome = sound(checker.check(c));
    } catch (InputException e) {
      failure = new Failure(Code.INVALID_INPUT, Texts.bounded("input: " + e.getMessage()), "");
    } catch (Throwable thrown) { // an Error too, such as a StackOverflowError, ends the case and no other
      failure = new Failure(Code.INTERNAL, Texts.explain(thrown), "");
    }
    c.end();
    String missing = c.missing();
    if (missing != null) { // it decides, whatever the checker made of it
      String call = Texts.bounded(missing);
      return new Answer(null, new Failure(Code.STUB_MISSING, Texts.bounded(StubMissingException.message(call)), call), c.used());
    }
    return new Answer(failure == null ? outcome : null, failure, c.used());
  }

  /** Holds an outcome against what one is. */
  private static Outcome sound(Outcome o) {
    if (o == null || o.verdict() == null || o.verdict().isEmpty()) {
      throw new IllegalStateException("the checker gave no verdict");
    }
    String reason = o.reasonCode() == null ? "" : o.reasonCode();
    if (!Texts.isWellFormed(o.verdict()) || !Texts.isWellFormed(reason)) {
      throw new IllegalStateException("a verdict or reason code has a lone surrogate");
    }
    return new Outcome(o.verdict(), reason, o.output());
  }
}
