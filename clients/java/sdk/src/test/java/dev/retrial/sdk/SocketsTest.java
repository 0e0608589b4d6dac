package dev.retrial.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SocketsTest {
  @Test
  void onlyASocketThatNobodyListensAtIsRemoved(@TempDir Path dir) throws IOException {
    Path file = Files.writeString(dir.resolve("f"), "precious");
    assertTrue(assertThrows(IOException.class, () -> Sockets.removeStale(file)).getMessage().contains("no socket"));
    assertEquals("precious", Files.readString(file));
    Path socket = dir.resolve("s");
    Sockets.removeStale(socket); // there is none
    try (ServerSocketChannel l = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      l.bind(UnixDomainSocketAddress.of(socket));
      assertTrue(assertThrows(IOException.class, () -> Sockets.removeStale(socket)).getMessage().contains("another process"));
    }
    assertTrue(Files.exists(socket));
    Sockets.removeStale(socket);
    assertFalse(Files.exists(socket));
  }

  @Test
  void aTokenIsSentInTheClearToThisMachineOnly() throws IOException {
    for (String local : new String[] {"unix:/s", "localhost:1", "127.1.2.3:1", "[::1]:1"}) {
      assertTrue(Sockets.isLocal(local), local);
    }
    for (String other : new String[] {"10.0.0.7:1", "localhost.example:1", "127.0.0.1.example:1", "[::2]:1", "dns:///localhost:1"}) {
      assertThrows(IOException.class, () -> Access.to(other, "", "token"), other);
    }
  }

  @Test
  void aFileWithoutACertificateIsRefused(@TempDir Path dir) throws IOException {
    Path file = Files.writeString(dir.resolve("ca.pem"), "none");
    assertThrows(IOException.class, () -> Access.to("10.0.0.7:1", file.toString(), ""));
  }
}
