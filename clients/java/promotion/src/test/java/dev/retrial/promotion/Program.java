package dev.retrial.promotion;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A program that runs, and what it prints. It is killed when it is closed. */
final class Program implements AutoCloseable {
  private final Process process;
  private final Output stdout;
  private final Output stderr;

  private static final class Output extends Thread {
    private final InputStream from;
    private final ByteArrayOutputStream read = new ByteArrayOutputStream(); // guarded by this
    private boolean over; // guarded by this

    Output(InputStream from) {
      this.from = from;
      setDaemon(true);
      start();
    }

    @Override
    public void run() {
      byte[] part = new byte[4096];
      try {
        for (int n; (n = from.read(part)) > 0; ) {
          synchronized (this) {
            read.write(part, 0, n);
            notifyAll();
          }
        }
      } catch (IOException e) {
        // The process was killed.
      }
      synchronized (this) {
        over = true;
        notifyAll();
      }
    }

    synchronized String text() {
      return read.toString(StandardCharsets.UTF_8);
    }

    synchronized String all() throws InterruptedException {
      while (!over) {
        wait();
      }
      return text();
    }

    synchronized Matcher until(Pattern pattern) throws InterruptedException {
      for (; ; ) {
        Matcher m = pattern.matcher(text());
        if (m.find()) {
          return m;
        }
        if (over) {
          throw new AssertionError("it ended without " + pattern + ":\n" + text());
        }
        wait();
      }
    }
  }

  private Program(List<String> command, Map<String, String> env) throws IOException {
    this(command, env, null);
  }

  private Program(List<String> command, Map<String, String> env, Path dir) throws IOException {
    ProcessBuilder b = new ProcessBuilder(command);
    b.directory(dir == null ? null : dir.toFile());
    b.environment().keySet().retainAll(List.of("PATH", "HOME"));
    b.environment().putAll(env);
    process = b.start();
    stdout = new Output(process.getInputStream());
    stderr = new Output(process.getErrorStream());
  }

  /** Starts the Go binary. */
  static Program retrial(String... args) throws IOException {
    Path binary = Path.of(System.getProperty("retrial.binary"));
    if (!Files.isExecutable(binary)) {
      throw new AssertionError("`make test-java` builds the Go binary " + binary + " before the tests");
    }
    List<String> command = new ArrayList<>(List.of(binary.toString()));
    command.addAll(List.of(args));
    return new Program(command, Map.of());
  }

  /** Starts a line of a shell in a directory. */
  static Program shell(String line, Path dir, Map<String, String> env) throws IOException {
    return new Program(List.of("sh", "-c", line), env, dir);
  }

  /**
   * Starts a main class of this module. Whoever started the tests in the background of a script has them ignore SIGINT, and what they
   * start inherits that, and a JVM keeps to it: where env can, it puts that right.
   */
  static Program java(Class<?> main, Map<String, String> env, String... args) throws IOException {
    List<String> command = new ArrayList<>(System.getProperty("os.name").equals("Linux") ? List.of("env", "--default-signal=INT") : List.of());
    command.addAll(command(main));
    command.addAll(List.of(args));
    return new Program(command, env);
  }

  /** Starts a main class of this module as a host launches a checker. */
  static Program launched(Class<?> main, Path dir, String... args) throws IOException {
    return java(main, Map.of("RETRIAL_CHECKER", "d1c7b2e0-checker-plugin", "PLUGIN_UNIX_SOCKET_DIR", dir.toString()), args);
  }

  /** Gives the command that starts a main class of this module. Two of them must not share a file of performance data: see the README. */
  static List<String> command(Class<?> main) {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    return List.of(java, "-XX:-UsePerfData", "-cp", System.getProperty("java.class.path"), main.getName());
  }

  /** Gives the root of the repository. */
  static Path repository() {
    return Path.of(System.getProperty("repository.root"));
  }

  Matcher untilStdout(String pattern) throws InterruptedException {
    return stdout.until(Pattern.compile(pattern, Pattern.MULTILINE));
  }

  Matcher untilStderr(String pattern) throws InterruptedException {
    return stderr.until(Pattern.compile(pattern, Pattern.MULTILINE));
  }

  /** Gives the path of a launched checker's socket, from its handshake. */
  Path socket() throws InterruptedException {
    return Path.of(untilStdout("\\A1\\|1\\|unix\\|(.*)\\|grpc\\|\n").group(1));
  }

  /** Sends a signal. */
  void signal(String name) throws IOException, InterruptedException {
    new ProcessBuilder("kill", "-" + name, String.valueOf(process.pid())).start().waitFor();
  }

  /** Waits for the end, and gives the exit status. */
  int status() throws InterruptedException {
    return process.waitFor();
  }

  /** Gives all that it printed, once it has ended. */
  String stdout() throws InterruptedException {
    return stdout.all();
  }

  String stderr() throws InterruptedException {
    return stderr.all();
  }

  @Override
  public void close() {
    process.destroyForcibly();
    try {
      process.waitFor();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
