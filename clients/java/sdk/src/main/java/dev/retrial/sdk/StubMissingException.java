package dev.retrial.sdk;

/** Says that the case carries no stub for a call. The case ends as STUB_MISSING, whatever the checker makes of it. */
public final class StubMissingException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final String call;

  StubMissingException(String call) {
    super(message(call));
    this.call = call;
  }

  /** The call. */
  public String call() {
    return call;
  }

  static String message(String call) {
    return "no stub for the call \"" + call + "\"";
  }
}
