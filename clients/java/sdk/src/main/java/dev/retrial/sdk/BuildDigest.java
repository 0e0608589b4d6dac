package dev.retrial.sdk;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.CodeSource;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;

/** Tells builds apart by what a class was loaded from. */
final class BuildDigest {
  private BuildDigest() {}

  /**
   * Gives "sha256:" and the digest of the jar that a class is from; of a directory, that of its files: the path of each, its length and
   * its bytes, in the order of the paths. It is empty where the class is from neither.
   */
  static String of(Class<?> type) {
    CodeSource source = type.getProtectionDomain().getCodeSource();
    if (source == null || source.getLocation() == null) {
      return "";
    }
    try {
      return "sha256:" + HexFormat.of().formatHex(digest(Path.of(source.getLocation().toURI())));
    } catch (Exception e) { // a location of a class loader of its own can be anything
      return "";
    }
  }

  private static byte[] digest(Path at) throws IOException, NoSuchAlgorithmException {
    MessageDigest hash = MessageDigest.getInstance("SHA-256");
    if (!Files.isDirectory(at)) {
      return hash.digest(Files.readAllBytes(at));
    }
    List<Path> files;
    try (Stream<Path> walk = Files.walk(at)) {
      files = walk.filter(Files::isRegularFile).toList();
    }
    List<String> names = files.stream().map(f -> at.relativize(f).toString().replace('\\', '/')).sorted().toList();
    for (String name : names) {
      byte[] content = Files.readAllBytes(at.resolve(name));
      hash.update((name + "\n" + content.length + "\n").getBytes(StandardCharsets.UTF_8));
      hash.update(content);
    }
    return hash.digest();
  }
}
