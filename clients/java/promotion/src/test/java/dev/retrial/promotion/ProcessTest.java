package dev.retrial.promotion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import retrial.checker.v1.Checker.Case;
import retrial.checker.v1.Checker.CheckRequest;
import retrial.checker.v1.Checker.Open;
import retrial.checker.v1.Checker.Result;

@Timeout(60)
class ProcessTest {
  private static final List<CheckRequest> ONE_CASE =
      List.of(
          CheckRequest.newBuilder().setOpen(Open.getDefaultInstance()).build(),
          CheckRequest.newBuilder().addCases(Case.newBuilder().setCaseId(1).setInput(ByteString.copyFromUtf8("{}"))).build());

  @TempDir Path dir;

  @Test
  void aLaunchedOneKeepsStdoutToTheHandshakeAndEndsAtSigterm() throws Exception {
    try (Program p = Program.launched(OddMain.class, dir, "print");
        Connection c = new Connection(p.socket())) {
      assertTrue(p.socket().startsWith(dir));
      p.signal("INT");
      List<Result> results = c.ask(ONE_CASE);
      assertEquals("ok", results.get(0).getOutcome().getVerdict());
      c.close();
      p.signal("TERM");
      assertEquals(0, p.status(), p.stderr());
      assertEquals(1, p.stdout().lines().count(), p.stdout());
      assertEquals("printed by the checker\n", p.stderr());
      assertEquals(List.of(), List.of(dir.toFile().list()));
    }
  }

  @Test
  void aThreadThatFailsEndsTheProcess() throws Exception {
    try (Program p = Program.launched(OddMain.class, dir, "thread");
        Connection c = new Connection(p.socket())) {
      assertThrows(Exception.class, () -> c.ask(ONE_CASE));
      assertEquals(1, p.status());
      assertTrue(p.stderr().contains("nobody catches this"), p.stderr());
    }
  }

  @Test
  void itListensWhereItIsToldTo() throws Exception {
    Path socket = dir.resolve("c");
    try (Program p = Program.java(OddMain.class, Map.of("RETRIAL_LISTEN", "unix:" + socket), "print")) {
      p.untilStderr("^odd listens at unix:.*/c$");
      try (Connection c = new Connection(socket)) {
        assertEquals(1, c.ask(ONE_CASE).size());
      }
      p.signal("INT");
      assertEquals(0, p.status(), p.stderr());
      assertTrue(Files.notExists(socket));
    }
    try (Program p = Program.java(OddMain.class, Map.of("RETRIAL_LISTEN", "127.0.0.1:0"), "print")) {
      p.untilStderr("^odd listens at 127\\.0\\.0\\.1:[1-9][0-9]*$");
      p.signal("TERM");
      assertEquals(0, p.status(), p.stderr());
    }
  }

  @Test
  void whatItCannotDoIsSaid() throws Exception {
    ends(2, "is a checker for Retrial", Map.of(), "print");
    ends(2, "name and version are mandatory", Map.of(), "undescribed");
    ends(2, "exclude each other", Map.of("RETRIAL_LISTEN", "127.0.0.1:0", "RETRIAL_ATTACH", "127.0.0.1:1"), "print");
    ends(2, "go together", Map.of("RETRIAL_ATTACH", "127.0.0.1:1"), "print");
    ends(1, "expected unix:/path or host:port", Map.of("RETRIAL_LISTEN", "nowhere"), "print");
    ends(1, "names no directory", Map.of("RETRIAL_CHECKER", "d1c7b2e0-checker-plugin"), "print");
    ends(
        1,
        "not sent in the clear",
        Map.of("RETRIAL_ATTACH", "10.0.0.7:1", "RETRIAL_ATTACH_NAME", "n", "RETRIAL_TOKEN", "t"),
        "print");
  }

  private static void ends(int status, String says, Map<String, String> env, String what) throws Exception {
    try (Program p = Program.java(OddMain.class, env, what)) {
      assertEquals(status, p.status(), p.stderr());
      assertTrue(p.stderr().contains(says), p.stderr());
      assertEquals("", p.stdout());
    }
  }
}
