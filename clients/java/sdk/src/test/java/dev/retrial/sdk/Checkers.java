package dev.retrial.sdk;

/** Makes checkers for tests. */
final class Checkers {
  /** Decides one case. */
  interface Rule {
    Outcome decide(Case c) throws Exception;
  }

  private Checkers() {}

  static Checker of(Rule rule) {
    return of(Description.of("test", "1").buildDigest("none").build(), rule);
  }

  static Checker of(Description description, Rule rule) {
    return new Checker() {
      @Override
      public Description describe() {
        return description;
      }

      @Override
      public Outcome check(Case c) throws Exception {
        return rule.decide(c);
      }
    };
  }
}
