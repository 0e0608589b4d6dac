package dev.retrial.promotion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.retrial.json.Json;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The checker as the Go binary tries it. */
@Timeout(120)
class HostTest {
  private static final String SET = Program.repository().resolve("examples/promotion").toString();
  private static final String COMMAND = String.join(" ", Program.command(Main.class));

  @TempDir Path dir;

  @Test
  void seventeenFixturesFlipWithFourteenDays() throws Exception {
    String store = dir.resolve("r.db").toString();
    try (Program p = Program.retrial("run", "--store", store, SET, "--baseline", COMMAND, "--candidate", COMMAND)) {
      assertEquals(1, p.status(), p.stderr());
      assertTrue(p.stdout().contains("confirmed  200 of 200 by the baseline\n"), p.stdout());
      assertTrue(p.stdout().endsWith("release blocked: 17 fixtures flipped\n"), p.stdout());
    }
    String days = "max_age_days=30";
    try (Program p =
        Program.retrial("run", "--store", store, SET, "--baseline", COMMAND, "--candidate", COMMAND, "--candidate-param", days)) {
      assertEquals(0, p.status(), p.stdout());
    }
  }

  @Test
  void itAttachesAndIsAskedByRuns() throws Exception {
    String address = "unix:" + dir.resolve("s");
    Path config = dir.resolve("server.yaml");
    Json command = Json.of(Program.command(Main.class));
    Files.writeString(
        config,
        "listen: " + address + "\nstore: " + dir.resolve("r.db") + "\nattach_allow: [next]\ncheckers:\n  stable: {command: " + command + "}\n");
    try (Program server = Program.retrial("serve", "--config", config.toString());
        Program checker = Program.java(Main.class, Map.of("RETRIAL_ATTACH", address, "RETRIAL_ATTACH_NAME", "next"))) {
      checker.untilStderr("^promotion is attached to unix:\\S+ as next, instance i-\\S+$");
      try (Program push = Program.retrial("fixtures", "push", SET, "--server", address, "--reason", "first import")) {
        assertEquals(0, push.status(), push.stderr());
      }
      assertEquals(1, run(address, "max_age_days=14"));
      assertEquals(0, run(address, "max_age_days=30"));
      checker.signal("TERM");
      assertEquals(0, checker.status(), checker.stderr());
      assertTrue(run(address, "max_age_days=30") > 1, "it can be named no more");
      server.signal("TERM");
      assertEquals(0, server.status(), server.stderr());
    }
  }

  @Test
  void aNameThatIsNotAdmittedEndsIt() throws Exception {
    String address = "unix:" + dir.resolve("s");
    Path config = dir.resolve("server.yaml");
    Files.writeString(config, "listen: " + address + "\nstore: " + dir.resolve("r.db") + "\nattach_allow: [next]\n");
    try (Program server = Program.retrial("serve", "--config", config.toString())) {
      server.untilStderr("\"msg\":\"serving\"");
      try (Program checker = Program.java(Main.class, Map.of("RETRIAL_ATTACH", address, "RETRIAL_ATTACH_NAME", "other"))) {
        assertEquals(1, checker.status());
        assertTrue(checker.stderr().contains("PERMISSION_DENIED: attach \"other\""), checker.stderr());
      }
    }
  }

  private static int run(String address, String parameter) throws Exception {
    try (Program p =
        Program.retrial(
            "run", "--server", address, "--set", "memory-promotion", "--baseline", "stable", "--candidate", "next", "--candidate-param", parameter)) {
      return p.status();
    }
  }
}
