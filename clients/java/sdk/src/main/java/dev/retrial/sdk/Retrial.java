package dev.retrial.sdk;

import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Runs a checker. */
public final class Retrial {
  private static final String COOKIE_VARIABLE = "RETRIAL_CHECKER";
  private static final String COOKIE_VALUE = "d1c7b2e0-checker-plugin";

  private Retrial() {}

  /**
   * Runs a checker until it is told to stop, and gives the exit status for main.
   *
   * <p>Where Retrial has launched the process, it serves Retrial. Where RETRIAL_LISTEN is set ("unix:/run/checker.sock" or
   * "127.0.0.1:9000"), it listens there. Where RETRIAL_ATTACH (a server) and RETRIAL_ATTACH_NAME (a name there) are, it attaches, again
   * whenever it is cut off, with the authorities of the file RETRIAL_CA ("system" for those that Java trusts) and the token
   * RETRIAL_TOKEN. Otherwise it says how it is meant to run.
   *
   * <p>The status is 0 when it was told to stop, 1 where something went wrong, and 2 for a configuration or a description that is not
   * usable. It writes nothing to stdout but the handshake, to which System.out does not go any more once it is launched, and what goes
   * wrong to stderr. An exception that no thread of the checker's own catches ends the process with 1: which cases it bears on is not
   * known.
   */
  public static int serve(Checker checker) {
    Map<String, String> env = System.getenv();
    boolean launched = COOKIE_VALUE.equals(env.get(COOKIE_VARIABLE));
    if (launched) {
      System.setOut(System.err);
    }
    Thread.setDefaultUncaughtExceptionHandler(Retrial::die);
    Description d;
    try {
      Wire.description(checker);
      d = checker.describe();
    } catch (RuntimeException e) {
      return refuse("this checker's description is not usable: " + e.getMessage());
    }
    if (launched) {
      Signals.ignore("INT"); // it is meant for the host, which ends its checkers itself
      return run(Signals.told("TERM"), told -> Serving.launcher(checker, env.getOrDefault("PLUGIN_UNIX_SOCKET_DIR", ""), told));
    }
    String address = env.getOrDefault("RETRIAL_LISTEN", "");
    String target = env.getOrDefault("RETRIAL_ATTACH", "");
    String name = env.getOrDefault("RETRIAL_ATTACH_NAME", "");
    if (!address.isEmpty() && !target.isEmpty()) {
      return refuse("RETRIAL_LISTEN and RETRIAL_ATTACH exclude each other");
    }
    if (target.isEmpty() != name.isEmpty()) {
      return refuse("RETRIAL_ATTACH and RETRIAL_ATTACH_NAME go together");
    }
    if (!address.isEmpty()) {
      return run(Signals.told("TERM", "INT"), told -> Serving.at(checker, address, told));
    }
    if (!target.isEmpty()) {
      Attachment a =
          new Attachment(checker, target, name, env.getOrDefault("RETRIAL_CA", ""), env.getOrDefault("RETRIAL_TOKEN", ""));
      return run(Signals.told("TERM", "INT"), told -> a.keep(told, Retrial::say));
    }
    System.err.printf(
        "%s %s is a checker for Retrial. Name this program as a checker's command in retrial.yaml,%n"
            + "or set RETRIAL_LISTEN to an address for it to listen at, such as unix:/run/checker.sock or 127.0.0.1:9000,%n"
            + "or RETRIAL_ATTACH and RETRIAL_ATTACH_NAME to the address of a server and a name of its own there.%n",
        d.name(), d.version());
    return 2;
  }

  /** What goes on until it is told to stop. */
  private interface Task {
    void until(CompletableFuture<Void> told) throws Exception;
  }

  private static int run(CompletableFuture<Void> told, Task task) {
    try {
      task.until(told);
      return 0;
    } catch (Exception e) {
      say(e.getMessage() == null ? e.toString() : e.getMessage());
      return 1;
    }
  }

  private static int refuse(String why) {
    say(why);
    return 2;
  }

  private static void say(String line) {
    System.err.println("retrial: " + Texts.bounded(line));
  }

  private static void die(Thread thread, Throwable thrown) {
    say("not caught by the checker: " + Texts.explain(thrown));
    Runtime.getRuntime().halt(1); // hooks of a checker that has failed could hang
  }
}
