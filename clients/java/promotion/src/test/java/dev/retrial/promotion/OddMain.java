package dev.retrial.promotion;

import dev.retrial.sdk.Case;
import dev.retrial.sdk.Checker;
import dev.retrial.sdk.Description;
import dev.retrial.sdk.Outcome;
import dev.retrial.sdk.Retrial;

/** A checker that does what it should not: "print" on stdout, "thread" that fails, "undescribed". */
public final class OddMain {
  private OddMain() {}

  /** Does the one that is named. */
  public static void main(String[] args) {
    System.exit(Retrial.serve(new Odd(args[0])));
  }

  private record Odd(String what) implements Checker {
    @Override
    public Description describe() {
      return Description.of(what.equals("undescribed") ? "" : "odd", "1").build();
    }

    @Override
    public Outcome check(Case c) throws Exception {
      System.out.println("printed by the checker");
      if (what.equals("thread")) {
        Thread t =
            new Thread(
                () -> {
                  throw new IllegalStateException("nobody catches this");
                });
        t.start();
        t.join();
      }
      return Outcome.of("ok", "");
    }
  }
}
