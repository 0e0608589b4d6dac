package dev.retrial.promotion;

import dev.retrial.sdk.Retrial;

/** A reference checker: it decides whether a claim is promoted into long-term memory or dropped. */
public final class Main {
  private Main() {}

  /** Has Retrial try the checker. */
  public static void main(String[] args) {
    System.exit(Retrial.serve(new Promotion()));
  }
}
