package dev.retrial.sdk;

import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import retrial.checker.v1.Checker.CheckRequest;
import retrial.checker.v1.Checker.CheckResponse;
import retrial.checker.v1.Checker.Result;

/**
 * One stream of cases. It takes a request when it has answered the one before, and answers as fast as the caller takes them. A batch is
 * decided beside the stream's callbacks, which say that the caller has gone, or takes more.
 */
final class CheckStream implements StreamObserver<CheckRequest> {
  /** Results are sent when a batch is done, when there are this many bytes of them, or when the first of them is this old. */
  private static final int FLUSH_BYTES = 1 << 20;

  private static final long FLUSH_NANOSECONDS = TimeUnit.MILLISECONDS.toNanos(20);

  private final Checker checker;
  private final ServerCallStreamObserver<CheckResponse> caller;
  private final Executor executor;
  private Parameters parameters; // set by the first request
  private boolean refused; // what the caller has sent behind what it is refused for counts no more

  // Guarded by this.
  private boolean busy;
  private boolean halfClosed;

  CheckStream(Checker checker, ServerCallStreamObserver<CheckResponse> caller, Executor executor) {
    this.checker = checker;
    this.caller = caller;
    this.executor = executor;
    caller.disableAutoRequest();
    caller.setOnReadyHandler(this::wake);
    caller.setOnCancelHandler(this::wake);
    caller.request(1);
  }

  private synchronized void wake() {
    notifyAll();
  }

  @Override
  public void onNext(CheckRequest request) {
    if (refused) {
      return;
    }
    if (parameters == null) {
      open(request);
    } else if (request.hasOpen() || request.getCasesCount() == 0) {
      refuse("every request but the first must carry cases, and nothing else");
    } else {
      synchronized (this) {
        busy = true;
      }
      executor.execute(() -> take(request));
    }
  }

  private void open(CheckRequest request) {
    if (!request.hasOpen() || request.getCasesCount() > 0) {
      refuse("the first request must open the stream, and carry no cases");
      return;
    }
    try {
      parameters = Parameters.bind(checker.describe(), request.getOpen().getParametersMap());
    } catch (IllegalArgumentException e) {
      refuse("open: " + e.getMessage());
      return;
    }
    caller.request(1);
  }

  private void refuse(String why) {
    refused = true;
    caller.onError(Status.INVALID_ARGUMENT.withDescription(Texts.bounded(why)).asException());
  }

  private void take(CheckRequest request) {
    try {
      if (!batch(request)) {
        return; // nobody waits
      }
    } catch (Throwable e) {
      caller.onError(Status.INTERNAL.withDescription(Texts.explain(e)).asException());
      return;
    }
    synchronized (this) {
      busy = false;
      if (!halfClosed) {
        caller.request(1);
        return;
      }
    }
    caller.onCompleted();
  }

  /** Decides the cases of one request, in their order. It is false where the caller has gone. */
  private boolean batch(CheckRequest request) throws InterruptedException {
    CheckResponse.Builder results = CheckResponse.newBuilder();
    int bytes = 0;
    long first = System.nanoTime();
    for (var asked : request.getCasesList()) {
      Case c = new Case(asked.getCaseId(), asked.getInput(), asked.getStubsList(), parameters, caller::isCancelled);
      Result result = Wire.result(asked.getCaseId(), Answer.of(checker, c));
      results.addResults(result);
      bytes += result.getSerializedSize();
      if (bytes >= FLUSH_BYTES || System.nanoTime() - first >= FLUSH_NANOSECONDS) {
        if (!send(results.build())) {
          return false;
        }
        results.clear();
        bytes = 0;
        first = System.nanoTime();
      }
    }
    return results.getResultsCount() == 0 || send(results.build());
  }

  /** Waits until the caller takes more, and sends. It is false where the caller has gone. */
  private boolean send(CheckResponse response) throws InterruptedException {
    synchronized (this) {
      while (!caller.isReady() && !caller.isCancelled()) {
        wait();
      }
    }
    if (caller.isCancelled()) {
      return false;
    }
    caller.onNext(response);
    return true;
  }

  @Override
  public void onError(Throwable cancelled) {
    wake();
  }

  @Override
  public void onCompleted() {
    if (refused) {
      return;
    }
    if (parameters == null) {
      refuse("the stream ended before it was opened");
      return;
    }
    synchronized (this) {
      halfClosed = true;
      if (busy) {
        return; // the batch under way ends the stream
      }
    }
    caller.onCompleted();
  }
}
