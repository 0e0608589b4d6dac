package dev.retrial.promotion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
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
}
