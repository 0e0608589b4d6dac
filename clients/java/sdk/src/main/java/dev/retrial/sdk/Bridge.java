package dev.retrial.sdk;

import com.google.protobuf.ByteString;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import retrial.registry.v1.Registry.AttachHello;
import retrial.registry.v1.Registry.AttachRequest;
import retrial.registry.v1.Registry.AttachResponse;
import retrial.registry.v1.Registry.Instance;
import retrial.registry.v1.RegistryServiceGrpc.RegistryServiceStub;

/**
 * Carries bytes both ways between a connection and an Attach stream, each as fast as the other takes them, until one of them ends; then
 * it ends the other.
 */
final class Bridge implements ClientResponseObserver<AttachRequest, AttachResponse> {
  /** Bounds the bytes of one part of a tunnel. */
  private static final int MAX_PART_BYTES = 64 << 10;

  /** How long a server may take to end a stream whose connection has ended. */
  private static final int END_SECONDS = 5;

  private final SocketChannel connection;
  private final Consumer<Instance> attached;
  private final CompletableFuture<Status> end = new CompletableFuture<>();
  private ClientCallStreamObserver<AttachRequest> server;

  private Bridge(SocketChannel connection, Consumer<Instance> attached) {
    this.connection = connection;
    this.attached = attached;
  }

  /** Bridges until one side ends. It gives the status of the stream, and closes the connection. */
  static Status run(RegistryServiceStub registry, String name, SocketChannel connection, Consumer<Instance> attached)
      throws InterruptedException {
    Bridge bridge = new Bridge(connection, attached);
    registry.attach(bridge);
    bridge.server.onNext(AttachRequest.newBuilder().setHello(AttachHello.newBuilder().setName(name)).build());
    bridge.pump();
    return bridge.finish();
  }

  @Override
  public void beforeStart(ClientCallStreamObserver<AttachRequest> stream) {
    server = stream;
    stream.disableAutoRequestWithInitial(1);
    stream.setOnReadyHandler(this::wake);
  }

  private synchronized void wake() {
    notifyAll();
  }

  /** Carries what the connection has to say to the server. */
  private void pump() throws InterruptedException {
    ByteBuffer part = ByteBuffer.allocate(MAX_PART_BYTES);
    try {
      while (connection.read(part) >= 0) {
        synchronized (this) {
          while (!server.isReady() && !end.isDone()) {
            wait();
          }
        }
        server.onNext(AttachRequest.newBuilder().setData(ByteString.copyFrom(part.flip())).build());
        part.clear();
      }
    } catch (IOException e) {
      // How a connection ends is not told apart.
    }
  }

  private Status finish() throws InterruptedException {
    try {
      server.onCompleted();
      return end.get(END_SECONDS, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      server.cancel("the connection has ended, and the server says nothing to that", e);
      return Status.OK;
    } catch (ExecutionException e) {
      throw new AssertionError(e); // nothing completes it with an exception
    } finally {
      close();
    }
  }

  @Override
  public void onNext(AttachResponse part) {
    if (part.hasAttached()) {
      attached.accept(part.getAttached().getInstance());
    }
    ByteBuffer data = part.getData().asReadOnlyByteBuffer();
    try {
      while (data.hasRemaining()) {
        connection.write(data);
      }
    } catch (IOException e) {
      close(); // the pump ends the stream; what still comes is for nobody
    }
    server.request(1);
  }

  @Override
  public void onError(Throwable thrown) {
    ended(Status.fromThrowable(thrown));
  }

  @Override
  public void onCompleted() {
    ended(Status.OK);
  }

  private void ended(Status status) {
    end.complete(status);
    wake();
    close();
  }

  private void close() {
    try {
      connection.close();
    } catch (IOException e) {
      // It is closed all the same.
    }
  }
}
