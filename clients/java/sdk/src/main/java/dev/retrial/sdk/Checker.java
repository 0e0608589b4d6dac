package dev.retrial.sdk;

/**
 * Decides cases.
 *
 * <p>The cases of a stream are decided one after the other, those of two streams side by side, on different threads: keep no state.
 */
public interface Checker {
  /** Says who the checker is. It must be cheap and always give the same. */
  Description describe();

  /**
   * Decides one case: from the case alone, without a clock, randomness or network, so that the same case always gives the same
   * outcome. What it throws says that this case cannot be decided, and does not affect the others: an {@link InputException} that the
   * input is not one that the checker can read, anything else that the checker has failed.
   */
  Outcome check(Case c) throws Exception;
}
