package dev.retrial.sdk;

import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.ServerChannel;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollServerDomainSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.nio.NioEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.socket.nio.NioServerSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.unix.DomainSocketAddress;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.file.Path;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** A server of the contract over a checker, with the health service beside it. */
final class CheckerServer {
  /** How long the calls under way are waited for when a server stops. */
  static final int STOP_SECONDS = 5;

  private static final int MAX_MESSAGE_BYTES = 32 << 20;
  private static final int MAX_HEADER_BYTES = 64 << 10;
  private static final int WINDOW_BYTES = 4 << 20;

  private final Server server;
  private final EventLoopGroup loops;
  private final ExecutorService executor;

  private CheckerServer(Checker checker, SocketAddress at, Class<? extends ServerChannel> type, EventLoopGroup loops)
      throws IOException {
    this.loops = loops;
    this.executor = Executors.newCachedThreadPool(CheckerServer::daemon);
    try {
      server =
          NettyServerBuilder.forAddress(at, InsecureServerCredentials.create())
              .channelType(type)
              .bossEventLoopGroup(loops)
              .workerEventLoopGroup(loops)
              .executor(executor)
              .maxInboundMessageSize(MAX_MESSAGE_BYTES)
              .maxInboundMetadataSize(MAX_HEADER_BYTES)
              .flowControlWindow(WINDOW_BYTES)
              .addService(new Service(checker, executor))
              .addService(Health.service())
              .build()
              .start();
    } catch (IOException | RuntimeException e) {
      end();
      throw e;
    }
  }

  /** Serves at a unix socket. */
  static CheckerServer at(Checker checker, Path socket) throws IOException {
    Sockets.requireUnix();
    return new CheckerServer(
        checker, new DomainSocketAddress(socket.toFile()), EpollServerDomainSocketChannel.class, new EpollEventLoopGroup(2));
  }

  /** Serves at an address of a network. */
  static CheckerServer at(Checker checker, InetSocketAddress address) throws IOException {
    return new CheckerServer(checker, address, NioServerSocketChannel.class, new NioEventLoopGroup(2));
  }

  private static Thread daemon(Runnable task) {
    Thread t = new Thread(task, "retrial-checker");
    t.setDaemon(true);
    return t;
  }

  /** Gives the port of an address of a network. */
  int port() {
    return server.getPort();
  }

  /** Ends it in order: calls under way may come to their ends within a few seconds. */
  void stop() {
    server.shutdown();
    try {
      if (!server.awaitTermination(STOP_SECONDS, TimeUnit.SECONDS)) {
        server.shutdownNow().awaitTermination(1, TimeUnit.SECONDS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      server.shutdownNow();
    }
    end();
  }

  private void end() {
    executor.shutdown();
    loops.shutdownGracefully(0, 0, TimeUnit.SECONDS);
  }
}
