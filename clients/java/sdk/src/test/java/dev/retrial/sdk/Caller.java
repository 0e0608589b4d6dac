package dev.retrial.sdk;

import com.google.protobuf.ByteString;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import retrial.checker.v1.Checker.Case;
import retrial.checker.v1.Checker.CheckRequest;
import retrial.checker.v1.Checker.CheckResponse;
import retrial.checker.v1.Checker.Open;
import retrial.checker.v1.CheckerServiceGrpc;

/** A caller of a checker over a unix socket, with one stream at a time. It takes responses only when they are asked for. */
final class Caller implements ClientResponseObserver<CheckRequest, CheckResponse>, AutoCloseable {
  private final CheckerServer server;
  final Access access;
  ClientCallStreamObserver<CheckRequest> stream;
  BlockingQueue<CheckResponse> responses;
  CompletableFuture<Status> end;

  Caller(Checker checker, Path dir) throws Exception {
    server = CheckerServer.at(checker, dir.resolve("s"));
    access = Access.to("unix:" + dir.resolve("s"), "", "");
  }

  /** Begins a stream. */
  void begin() {
    responses = new LinkedBlockingQueue<>();
    end = new CompletableFuture<>();
    CheckerServiceGrpc.newStub(access.channel()).check(this);
  }

  void open() {
    stream.onNext(CheckRequest.newBuilder().setOpen(Open.getDefaultInstance()).build());
  }

  void send(long firstId, int cases) {
    CheckRequest.Builder request = CheckRequest.newBuilder();
    for (int i = 0; i < cases; i++) {
      request.addCases(Case.newBuilder().setCaseId(firstId + i).setInput(ByteString.copyFromUtf8("{}")));
    }
    stream.onNext(request.build());
  }

  CheckResponse next() throws InterruptedException {
    stream.request(1);
    CheckResponse next = responses.poll(20, TimeUnit.SECONDS);
    if (next == null) {
      throw new AssertionError("no response: " + end);
    }
    return next;
  }

  Status status() throws Exception {
    stream.request(1);
    return end.get(20, TimeUnit.SECONDS);
  }

  @Override
  public void beforeStart(ClientCallStreamObserver<CheckRequest> started) {
    stream = started;
    started.disableAutoRequestWithInitial(0);
  }

  @Override
  public void onNext(CheckResponse response) {
    responses.add(response);
  }

  @Override
  public void onError(Throwable thrown) {
    end.complete(Status.fromThrowable(thrown));
  }

  @Override
  public void onCompleted() {
    end.complete(Status.OK);
  }

  @Override
  public void close() {
    access.close().run();
    server.stop();
  }
}
