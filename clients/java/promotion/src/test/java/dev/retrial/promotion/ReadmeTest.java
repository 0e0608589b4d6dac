package dev.retrial.promotion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Who follows the README from an empty folder gets what it shows, and a checker that reaches the top level. */
class ReadmeTest {
  /** A code block: the line before it, its language, the code. */
  private static final Pattern BLOCK = Pattern.compile("([^\\n]*)\\n\\n```(\\w*)\\n(.*?)^```", Pattern.MULTILINE | Pattern.DOTALL);

  private static final Pattern NAMED = Pattern.compile("`([\\w./]+\\.\\w+)`|.*, `([\\w./]+\\.\\w+)`:");

  @TempDir private Path temporary;

  private Map<String, String> environment;
  private String shown = "";

  @Test
  void whoFollowsItGetsWhatItShows() throws Exception {
    Path root = Program.repository();
    // What `mvn install` writes into this directory is not for one whose tests run.
    Path from = temporary.resolve("repository/clients/java");
    copy(root.resolve("clients/java"), from);
    copy(root.resolve("proto"), temporary.resolve("repository/proto"));
    Path dir = Files.createDirectory(temporary.resolve("empty"));
    Path binary = Path.of(System.getProperty("retrial.binary"));
    environment =
        Map.of(
            "PATH", binary.getParent() + File.pathSeparator + System.getenv("PATH"),
            "MAVEN_OPTS", "-Dmaven.repo.local=" + localRepository(root.resolve("clients/java/promotion/target/readme-repository")));

    String readme = Files.readString(root.resolve("clients/java/README.md"));
    List<String> files = new ArrayList<>();
    List<Integer> statuses = new ArrayList<>();
    int compared = 0;
    for (Matcher block = BLOCK.matcher(readme); block.find(); ) {
      String code = block.group(3);
      Matcher named = NAMED.matcher(block.group(1));
      if (named.lookingAt() && !code.startsWith("$ ")) {
        String name = named.group(1) != null ? named.group(1) : named.group(2);
        Files.createDirectories(dir.resolve(name).getParent());
        Files.writeString(dir.resolve(name), code);
        files.add(name);
      } else if (code.startsWith("$ ")) {
        for (String line : code.lines().toList()) {
          statuses.add(shell(line.substring(2), statuses.isEmpty() ? from : dir));
        }
      } else if (block.group(2).isEmpty()) {
        assertTrue(shown.endsWith(code), shown);
        compared++;
      }
    }
    assertEquals(
        List.of("pom.xml", "src/main/java/Staleness.java", "trial/retrial.yaml", "trial/fixtures/decisions.jsonl"), files);
    assertEquals(List.of(0, 0, 0, 1), statuses);
    assertEquals(1, compared);

    assertEquals(0, shell(find(readme, "`(retrial run [^`]+)` passes, with status 0").group(1), dir));
    Matcher conformance = find(readme, "`(retrial conformance [^`]+)`\\n[^`]*`(level[^`]+)`");
    assertEquals(0, shell(conformance.group(1), dir), shown);
    assertTrue(shown.stripTrailing().endsWith(conformance.group(2)), shown);
  }

  private static Matcher find(String text, String pattern) {
    Matcher m = Pattern.compile(pattern).matcher(text);
    assertTrue(m.find(), pattern);
    return m;
  }

  /** Runs a line of a shell, and gives its exit status. */
  private int shell(String line, Path dir) throws IOException, InterruptedException {
    try (Program p = Program.shell(line, dir, environment)) {
      int status = p.status();
      shown = p.stdout();
      System.out.println("$ " + line + "\n" + shown + p.stderr() + "(" + status + ")");
      return status;
    }
  }

  /** Makes a local repository of Maven with all that is in the one of this build, and a place of its own for the SDK. */
  private static Path localRepository(Path to) throws IOException {
    String given = System.getProperty("localRepository");
    Path shared = given != null ? Path.of(given) : Path.of(System.getProperty("user.home"), ".m2", "repository");
    Files.createDirectories(to.resolve("dev"));
    link(shared, to, "dev");
    if (Files.isDirectory(shared.resolve("dev"))) {
      link(shared.resolve("dev"), to.resolve("dev"), "retrial");
    }
    return to;
  }

  private static void link(Path from, Path to, String but) throws IOException {
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(from)) {
      for (Path entry : entries) {
        Path link = to.resolve(entry.getFileName());
        if (!entry.getFileName().toString().equals(but) && !Files.exists(link, LinkOption.NOFOLLOW_LINKS)) {
          Files.createSymbolicLink(link, entry);
        }
      }
    }
  }

  private static void copy(Path from, Path to) throws IOException {
    Files.walkFileTree(
        from,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path dir, BasicFileAttributes attributes) throws IOException {
            if (dir.endsWith("target")) {
              return FileVisitResult.SKIP_SUBTREE;
            }
            Files.createDirectories(to.resolve(from.relativize(dir)));
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
            Files.copy(file, to.resolve(from.relativize(file)));
            return FileVisitResult.CONTINUE;
          }
        });
  }
}
