package dev.retrial.sdk;

/** Says that the input is not one that the checker can read: the case ends as INVALID_INPUT. */
public final class InputException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** Says what is wrong with the input. */
  public InputException(String message) {
    super(message);
  }

  /** Says what is wrong with the input, and what it came from. */
  public InputException(String message, Throwable cause) {
    super(message, cause);
  }
}
