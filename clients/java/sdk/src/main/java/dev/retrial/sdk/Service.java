package dev.retrial.sdk;

import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.Executor;
import retrial.checker.v1.Checker.CheckRequest;
import retrial.checker.v1.Checker.CheckResponse;
import retrial.checker.v1.Checker.DescribeRequest;
import retrial.checker.v1.Checker.DescribeResponse;
import retrial.checker.v1.CheckerServiceGrpc.CheckerServiceImplBase;

/** The contract over a checker. */
final class Service extends CheckerServiceImplBase {
  private final Checker checker;
  private final DescribeResponse description;
  private final Executor executor;

  /** An IllegalArgumentException, or whatever the checker throws, for a description that is not usable. */
  Service(Checker checker, Executor executor) {
    this.checker = checker;
    this.description = Wire.description(checker);
    this.executor = executor;
  }

  @Override
  public void describe(DescribeRequest request, StreamObserver<DescribeResponse> caller) {
    caller.onNext(description);
    caller.onCompleted();
  }

  @Override
  public StreamObserver<CheckRequest> check(StreamObserver<CheckResponse> caller) {
    return new CheckStream(checker, (ServerCallStreamObserver<CheckResponse>) caller, executor);
  }
}
