package dev.retrial.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import retrial.checker.v1.Checker.DescribeResponse;
import retrial.checker.v1.Checker.ParameterType;

class DescriptionTest {
  @Test
  void isSaidInTheContractsForm() {
    Description d =
        Description.of("name", "2")
            .parameter("whole", 30, "says what")
            .parameter("half", 0.5, "")
            .parameter("flag", true, "")
            .parameter("word", "\"", "")
            .verdicts("a", "b")
            .reasonCodes("r")
            .callsStubs()
            .configurationVersion("c/1")
            .build();
    DescribeResponse r = Wire.description(Checkers.of(d, c -> null));
    assertEquals(List.of("name", "2", "c/1", "says what"), List.of(r.getName(), r.getVersion(), r.getConfigurationVersion(), r.getParameters(0).getDescription()));
    assertEquals(List.of("30", "0.5", "true", "\"\\\"\""), r.getParametersList().stream().map(p -> p.getDefaultJson().toStringUtf8()).toList());
    assertEquals(
        List.of(
            ParameterType.PARAMETER_TYPE_INTEGER,
            ParameterType.PARAMETER_TYPE_NUMBER,
            ParameterType.PARAMETER_TYPE_BOOLEAN,
            ParameterType.PARAMETER_TYPE_STRING),
        r.getParametersList().stream().map(p -> p.getType()).toList());
    assertTrue(r.getCallsStubs() && r.getContractVersion() == 1 && r.getBuildDigest().matches("sha256:[0-9a-f]{64}"), r.toString());
  }

  @Test
  void whatIsNotUsableIsRefused() {
    for (Description.Builder b :
        List.of(
            Description.of("", "1"),
            Description.of("n", null),
            Description.of("n", "1").parameter("", 1, ""),
            Description.of("n", "1").parameter("p", (String) null, ""),
            Description.of("n", "1").parameter("p", Double.NaN, ""),
            Description.of("n", "1").parameter("p", 1, "").parameter("p", true, ""))) {
      assertThrows(IllegalArgumentException.class, b::build);
    }
  }

  @Test
  void theDigestOfAJarIsThatOfItsFile(@TempDir Path dir) throws Exception {
    Path jar = dir.resolve("x.jar");
    try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(jar))) {
      zip.putNextEntry(new ZipEntry(name()));
      zip.write(content());
    }
    byte[] hash = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(jar));
    assertEquals("sha256:" + HexFormat.of().formatHex(hash), digestFrom(jar));
  }

  @Test
  void theDigestOfADirectoryIsThatOfItsFiles(@TempDir Path dir) throws Exception {
    Files.createDirectories(dir.resolve(name()).getParent());
    Files.write(dir.resolve(name()), content());
    Files.writeString(dir.resolve("rules.txt"), "30");
    String before = digestFrom(dir);
    assertEquals(before, digestFrom(dir));
    Files.writeString(dir.resolve("rules.txt"), "14");
    assertNotEquals(before, digestFrom(dir));
  }

  private static String digestFrom(Path at) throws Exception {
    try (URLClassLoader loader = new URLClassLoader(new URL[] {at.toUri().toURL()}, null)) {
      return BuildDigest.of(loader.loadClass(Outcome.class.getName()));
    }
  }

  private static String name() {
    return Outcome.class.getName().replace('.', '/') + ".class";
  }

  private static byte[] content() throws IOException {
    try (InputStream in = Outcome.class.getClassLoader().getResourceAsStream(name())) {
      return in.readAllBytes();
    }
  }
}
