package dev.retrial.sdk;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.concurrent.CompletableFuture;

/** The two ways to wait for calls, each until it is told to stop. */
final class Serving {
  private Serving() {}

  /**
   * Serves the process that has launched this one: at a socket in the directory that it names, which a line on stdout tells it, in the
   * form of hashicorp/go-plugin.
   */
  static void launcher(Checker checker, String directory, CompletableFuture<Void> told) throws IOException {
    if (directory.isEmpty()) {
      throw new IOException("PLUGIN_UNIX_SOCKET_DIR names no directory for the socket");
    }
    byte[] random = new byte[5];
    new SecureRandom().nextBytes(random);
    // As short as go-plugin's: the host has reckoned with it.
    Path socket = Path.of(directory, "plugin" + HexFormat.of().formatHex(random));
    CheckerServer server = CheckerServer.at(checker, socket);
    String line = "1|" + Wire.CONTRACT_VERSION + "|unix|" + socket + "|grpc|\n";
    new FileOutputStream(FileDescriptor.out).write(line.getBytes(StandardCharsets.UTF_8));
    told.join();
    server.stop();
    Files.deleteIfExists(socket);
  }

  /** Serves at "unix:/path" or "host:port". Once it accepts calls, it says so on stderr. */
  static void at(Checker checker, String address, CompletableFuture<Void> told) throws IOException {
    Path socket = Sockets.unixPath(address);
    CheckerServer server;
    String shown = address;
    if (socket != null) {
      Sockets.removeStale(socket);
      server = CheckerServer.at(checker, socket);
    } else {
      server = CheckerServer.at(checker, parse(address));
      shown = address.replaceAll(":0$", ":" + server.port());
    }
    System.err.println(checker.describe().name() + " listens at " + shown);
    told.join();
    server.stop();
    if (socket != null) {
      Files.deleteIfExists(socket);
    }
  }

  /** Reads "host:port", "[host]:port" or ":port", which is every address of this machine. */
  private static InetSocketAddress parse(String address) throws IOException {
    int colon = address.lastIndexOf(':');
    String host = address.substring(0, Math.max(colon, 0)).replaceAll("^\\[(.*)]$", "$1");
    try {
      int port = Integer.parseInt(address.substring(colon + 1));
      if (colon >= 0) {
        return host.isEmpty() ? new InetSocketAddress(port) : new InetSocketAddress(host, port);
      }
    } catch (IllegalArgumentException e) {
      // It is said below.
    }
    throw new IOException("listen at " + address + ": expected unix:/path or host:port");
  }
}
