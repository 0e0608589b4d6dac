package dev.retrial.sdk;

import io.grpc.ChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettySslContextChannelCredentials;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollDomainSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.unix.DomainSocketAddress;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContextBuilder;
import io.grpc.stub.MetadataUtils;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * A connection to a server.
 *
 * @param channel what calls go over
 * @param close ends it
 */
record Access(ManagedChannel channel, Runnable close) {
  private static final Metadata.Key<String> AUTHORIZATION = Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  /**
   * Makes a connection to "host:port" or "unix:/path"; nothing is dialled yet.
   *
   * @param ca the path of the authorities of the server's certificate, as PEM; "system" for those that Java trusts; empty for a server
   *     in the clear. TLS 1.3 is the least
   * @param token says who calls; empty for nobody. It is not sent in the clear to another machine: an IOException
   */
  static Access to(String target, String ca, String token) throws IOException {
    if (!token.isEmpty() && ca.isEmpty() && !Sockets.isLocal(target)) {
      throw new IOException("a token is not sent in the clear to another machine: use TLS");
    }
    Path socket = Sockets.unixPath(target);
    EpollEventLoopGroup loops = null;
    NettyChannelBuilder builder;
    if (socket == null) {
      builder = NettyChannelBuilder.forTarget(target, credentials(ca));
    } else {
      Sockets.requireUnix();
      loops = new EpollEventLoopGroup(1);
      builder =
          NettyChannelBuilder.forAddress(new DomainSocketAddress(socket.toFile()), credentials(ca))
              .overrideAuthority("localhost")
              .channelType(EpollDomainSocketChannel.class)
              .eventLoopGroup(loops);
    }
    if (!token.isEmpty()) {
      Metadata headers = new Metadata();
      headers.put(AUTHORIZATION, "Bearer " + token);
      builder.intercept(MetadataUtils.newAttachHeadersInterceptor(headers));
    }
    ManagedChannel channel = builder.build();
    EpollEventLoopGroup own = loops;
    return new Access(channel, () -> end(channel, own));
  }

  private static void end(ManagedChannel channel, EpollEventLoopGroup loops) {
    channel.shutdownNow();
    try {
      channel.awaitTermination(1, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (loops != null) {
      loops.shutdownGracefully(0, 0, TimeUnit.SECONDS);
    }
  }

  private static ChannelCredentials credentials(String ca) throws IOException {
    if (ca.isEmpty()) {
      return InsecureChannelCredentials.create();
    }
    SslContextBuilder tls = GrpcSslContexts.forClient().protocols("TLSv1.3");
    if (!ca.equals("system")) {
      File authorities = new File(ca);
      if (!Files.readString(authorities.toPath()).contains("-----BEGIN CERTIFICATE-----")) {
        throw new IOException(ca + ": there is no certificate in it");
      }
      tls.trustManager(authorities);
    }
    return NettySslContextChannelCredentials.create(tls.build());
  }
}
