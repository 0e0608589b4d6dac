package dev.retrial.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.grpc.Metadata;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import retrial.registry.v1.Registry.AttachRequest;
import retrial.registry.v1.Registry.AttachResponse;
import retrial.registry.v1.RegistryServiceGrpc.RegistryServiceImplBase;

@Timeout(60)
class AttachmentTest {
  private final Queue<Status> ends = new ArrayDeque<>();
  private final List<String> callers = Collections.synchronizedList(new ArrayList<>());
  private final List<String> names = Collections.synchronizedList(new ArrayList<>());
  private Server server;

  /** Ends each stream by the next status. */
  private final class Registry extends RegistryServiceImplBase {
    @Override
    public StreamObserver<AttachRequest> attach(StreamObserver<AttachResponse> caller) {
      return new StreamObserver<>() {
        @Override
        public void onNext(AttachRequest part) {
          if (part.hasHello()) {
            names.add(part.getHello().getName());
            Status end;
            synchronized (ends) {
              end = ends.remove();
            }
            caller.onError(end.asException());
          }
        }

        @Override
        public void onError(Throwable thrown) {}

        @Override
        public void onCompleted() {}
      };
    }
  }

  private final class Listener implements ServerInterceptor {
    @Override
    public <Q, S> ServerCall.Listener<Q> interceptCall(ServerCall<Q, S> call, Metadata headers, ServerCallHandler<Q, S> next) {
      callers.add(headers.get(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER)));
      return next.startCall(call, headers);
    }
  }

  @BeforeEach
  void start() throws Exception {
    server =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), InsecureServerCredentials.create())
            .addService(new Registry())
            .intercept(new Listener())
            .build()
            .start();
  }

  @AfterEach
  void stop() throws Exception {
    server.shutdownNow().awaitTermination();
  }

  private Attachment attachment() {
    return new Attachment(Checkers.of(c -> null), "127.0.0.1:" + server.getPort(), "next", "", "secret");
  }

  @Test
  void itAttachesAgainUntilThatIsOfNoUse() {
    Collections.addAll(ends, Status.UNAVAILABLE, Status.RESOURCE_EXHAUSTED, Status.PERMISSION_DENIED.withDescription("not that name"));
    List<String> log = new ArrayList<>();
    StatusException e = assertThrows(StatusException.class, () -> attachment().keep(new CompletableFuture<>(), log::add));
    assertEquals("PERMISSION_DENIED: attach \"next\": not that name", e.getMessage());
    assertEquals(2, log.size());
    assertEquals(List.of("next", "next", "next"), names);
    assertEquals(List.of("Bearer secret", "Bearer secret", "Bearer secret"), callers);
  }

  @Test
  void itEndsWhenItIsTold() throws Exception {
    ends.add(Status.UNAVAILABLE);
    CompletableFuture<Void> told = new CompletableFuture<>();
    attachment().keep(told, line -> told.complete(null));
    assertEquals(1, names.size());
  }

  @Test
  void whatAnotherAttemptDoesNotMendIsFinal() {
    for (Status s : List.of(Status.INVALID_ARGUMENT, Status.UNAUTHENTICATED, Status.ALREADY_EXISTS, Status.UNIMPLEMENTED)) {
      ends.add(s);
      StatusException e = assertThrows(StatusException.class, () -> attachment().keep(new CompletableFuture<>(), line -> {}));
      assertEquals(s.getCode(), e.getStatus().getCode());
    }
  }
}
