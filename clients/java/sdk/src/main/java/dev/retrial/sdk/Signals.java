package dev.retrial.sdk;

import java.util.concurrent.CompletableFuture;
import sun.misc.Signal;
import sun.misc.SignalHandler;

/** What a process is told. Without a handler the JVM ends with status 143 at SIGTERM, in whatever it does. */
final class Signals {
  private Signals() {}

  /** Gives what is completed when one of the signals comes. */
  static CompletableFuture<Void> told(String... names) {
    CompletableFuture<Void> told = new CompletableFuture<>();
    for (String name : names) {
      handle(name, signal -> told.complete(null));
    }
    return told;
  }

  static void ignore(String name) {
    handle(name, SignalHandler.SIG_IGN);
  }

  private static void handle(String name, SignalHandler handler) {
    try {
      Signal.handle(new Signal(name), handler);
    } catch (IllegalArgumentException e) {
      // The platform has no such signal, or the JVM was told to leave them alone (-Xrs): then it ends as the platform does it.
    }
  }
}
