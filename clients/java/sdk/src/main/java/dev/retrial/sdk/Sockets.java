package dev.retrial.sdk;

import io.grpc.netty.shaded.io.netty.channel.epoll.Epoll;
import java.io.IOException;
import java.net.ConnectException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.logging.Level;
import java.util.logging.Logger;

/** Unix sockets, and addresses as they are written. */
final class Sockets {
  /** Held, since a logger that nobody holds forgets its level. */
  private static final Logger BOOTSTRAP = Logger.getLogger("io.grpc.netty.shaded.io.netty.bootstrap");

  /** Where netty unpacks its native library, which it does once. */
  private static final String WORKDIR = "io.grpc.netty.shaded.io.netty.native.workdir";

  private Sockets() {}

  /** Gives the path of "unix:/path", or null for any other address. */
  static Path unixPath(String address) {
    return address.startsWith("unix:") ? Path.of(address.substring("unix:".length())) : null;
  }

  /** Says whether only this machine reaches an address. */
  static boolean isLocal(String address) {
    return address.startsWith("unix:") || address.matches("(localhost|\\[::1]|127\\.[0-9]+\\.[0-9]+\\.[0-9]+):[0-9]+");
  }

  /** An IOException where gRPC has no unix sockets. It keeps netty from warning of each that it has no SO_KEEPALIVE. */
  static void requireUnix() throws IOException {
    BOOTSTRAP.setLevel(Level.SEVERE);
    // In a sandbox a checker may write where TMPDIR says and nowhere else, and Java's own java.io.tmpdir does not ask it.
    String temporary = System.getenv("TMPDIR");
    if (temporary != null && !temporary.isEmpty() && System.getProperty(WORKDIR) == null) {
      System.setProperty(WORKDIR, temporary);
    }
    if (!Epoll.isAvailable()) {
      throw new IOException("unix sockets need Linux with glibc on x86-64 or ARM64: " + Epoll.unavailabilityCause().getMessage());
    }
  }

  /** Connects to a unix socket. */
  static SocketChannel connect(Path path) throws IOException {
    SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      channel.connect(UnixDomainSocketAddress.of(path));
      return channel;
    } catch (IOException e) {
      channel.close();
      throw e;
    }
  }

  /** Removes a socket that nobody listens at. It looks first: to connect to a file that is no socket is refused as well. */
  static void removeStale(Path path) throws IOException {
    if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
      return;
    }
    try {
      connect(path).close();
    } catch (ConnectException refused) {
      if (!Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS).isOther()) {
        throw new IOException("listen at unix:" + path + ": there is a file that is no socket", refused);
      }
      Files.delete(path);
      return;
    }
    throw new IOException("listen at unix:" + path + ": another process does");
  }
}
