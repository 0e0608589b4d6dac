package dev.retrial.promotion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.retrial.json.Json;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The checker as it attaches to a server. */
@Timeout(120)
class AttachTest {
  private static final String ATTACHED = "^promotion is attached to unix:\\S+ as next, instance i-\\S+$";

  @TempDir Path dir;
  private String address;

  @BeforeEach
  void name() {
    address = "unix:" + dir.resolve("s");
  }

  /** Starts a server that has a checker "stable" and admits one of the name "next"; {@code more} are lines of its configuration. */
  private Program serve(String more) throws Exception {
    Path config = dir.resolve("server.yaml");
    String checkers = "checkers:\n  stable: {command: " + Json.of(Program.command(Main.class)) + "}\n";
    Files.writeString(config, "listen: " + address + "\nstore: " + dir.resolve("r.db") + "\nattach_allow: [next]\n" + checkers + more);
    Program server = Program.retrial("serve", "--config", config.toString());
    server.untilStderr("\"msg\":\"serving\"");
    return server;
  }

  private Program attach(String name, Map<String, String> more) throws IOException {
    Map<String, String> env = new HashMap<>(more);
    env.putAll(Map.of("RETRIAL_ATTACH", address, "RETRIAL_ATTACH_NAME", name));
    return Program.java(Main.class, env);
  }

  /** Runs a command against the server, and gives its exit status. */
  private int ask(List<String> access, String... args) throws Exception {
    List<String> all = new ArrayList<>(List.of(args));
    all.addAll(List.of("--server", address));
    all.addAll(access);
    try (Program p = Program.retrial(all.toArray(String[]::new))) {
      return p.status();
    }
  }

  private int push(String... access) throws Exception {
    String set = Program.repository().resolve("examples/promotion").toString();
    return ask(List.of(access), "fixtures", "push", set, "--reason", "first import");
  }

  private int run(int days, String... access) throws Exception {
    return ask(
        List.of(access), "run", "--set", "memory-promotion", "--baseline", "stable", "--candidate", "next", "--candidate-param", "max_age_days=" + days);
  }

  private static void refused(Program checker, String says) throws Exception {
    try (checker) {
      assertEquals(1, checker.status());
      assertTrue(checker.stderr().contains(says), checker.stderr());
    }
  }

  @Test
  void itIsAskedByRunsUntilItIsToldToStop() throws Exception {
    try (Program server = serve("");
        Program checker = attach("next", Map.of())) {
      checker.untilStderr(ATTACHED);
      assertEquals(0, push());
      assertEquals(1, run(14));
      assertEquals(0, run(30));
      checker.signal("TERM");
      assertEquals(0, checker.status(), checker.stderr());
      assertTrue(run(30) > 1, "it can be named no more");
      server.signal("TERM");
      assertEquals(0, server.status(), server.stderr());
    }
  }

  @Test
  void aNameThatIsNotAdmittedEndsIt() throws Exception {
    try (Program server = serve("")) {
      refused(attach("other", Map.of()), "PERMISSION_DENIED: attach \"other\"");
    }
  }

  @Test
  void overTlsAndWithAToken() throws Exception {
    String cert = dir.resolve("cert.pem").toString();
    String key = dir.resolve("key.pem").toString();
    certificate(cert, key);
    String tokens = dir.resolve("tokens.yaml").toString();
    String registrar = token(tokens, "runner", "submitter,registrar");
    String author = token(tokens, "ada", "author");
    try (Program server = serve("tls: {cert: " + cert + ", key: " + key + "}\nauth: {tokens: " + tokens + "}\n");
        Program checker = attach("next", Map.of("RETRIAL_CA", cert, "RETRIAL_TOKEN", registrar))) {
      checker.untilStderr(ATTACHED);
      assertEquals(0, push("--ca", cert, "--token-file", file(author)));
      assertEquals(0, run(30, "--ca", cert, "--token-file", file(registrar)));
      refused(attach("next", Map.of("RETRIAL_CA", cert)), "UNAUTHENTICATED");
      refused(attach("next", Map.of("RETRIAL_CA", cert, "RETRIAL_TOKEN", author)), "PERMISSION_DENIED");
      refused(attach("next", Map.of("RETRIAL_CA", key)), "there is no certificate in it");
    }
  }

  private String file(String token) throws IOException {
    return Files.writeString(Files.createTempFile(dir, "token", ""), token).toString();
  }

  private static void certificate(String cert, String key) throws Exception {
    String command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -addext subjectAltName=DNS:localhost";
    List<String> args = new ArrayList<>(List.of(command.split(" ")));
    args.addAll(List.of("-keyout", key, "-out", cert));
    ProcessBuilder openssl = new ProcessBuilder(args).redirectErrorStream(true).redirectOutput(new File("/dev/null"));
    assertEquals(0, openssl.start().waitFor());
  }

  private static String token(String file, String name, String roles) throws Exception {
    try (Program p = Program.retrial("token", "create", "--file", file, "--name", name, "--role", roles, "--expires-in", "1h")) {
      assertEquals(0, p.status(), p.stderr());
      return p.stdout().strip();
    }
  }
}
