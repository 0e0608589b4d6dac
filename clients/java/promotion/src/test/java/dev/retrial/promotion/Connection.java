package dev.retrial.promotion;

import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollDomainSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.unix.DomainSocketAddress;
import io.grpc.stub.StreamObserver;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import retrial.checker.v1.Checker.CheckRequest;
import retrial.checker.v1.Checker.CheckResponse;
import retrial.checker.v1.Checker.Result;
import retrial.checker.v1.CheckerServiceGrpc;

/** A connection to a checker at a unix socket. */
final class Connection implements AutoCloseable {
  /** Netty warns of each unix socket that it has no SO_KEEPALIVE. */
  private static final Logger BOOTSTRAP = Logger.getLogger("io.grpc.netty.shaded.io.netty.bootstrap");

  private final EpollEventLoopGroup loops = new EpollEventLoopGroup(1);
  private final ManagedChannel channel;

  Connection(Path socket) {
    BOOTSTRAP.setLevel(Level.SEVERE);
    channel =
        NettyChannelBuilder.forAddress(new DomainSocketAddress(socket.toFile()), InsecureChannelCredentials.create())
            .overrideAuthority("localhost")
            .channelType(EpollDomainSocketChannel.class)
            .eventLoopGroup(loops)
            .build();
  }

  /** Sends requests on one stream, and gives the results once it has ended in order. */
  List<Result> ask(List<CheckRequest> requests) throws Exception {
    CompletableFuture<List<Result>> all = new CompletableFuture<>();
    StreamObserver<CheckRequest> stream =
        CheckerServiceGrpc.newStub(channel)
            .check(
                new StreamObserver<>() {
                  private final List<Result> results = new ArrayList<>();

                  @Override
                  public void onNext(CheckResponse response) {
                    results.addAll(response.getResultsList());
                  }

                  @Override
                  public void onError(Throwable thrown) {
                    all.completeExceptionally(thrown);
                  }

                  @Override
                  public void onCompleted() {
                    all.complete(results);
                  }
                });
    requests.forEach(stream::onNext);
    stream.onCompleted();
    return all.get(60, TimeUnit.SECONDS);
  }

  @Override
  public void close() {
    channel.shutdownNow();
    loops.shutdownGracefully(0, 0, TimeUnit.SECONDS);
  }
}
