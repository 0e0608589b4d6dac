package dev.retrial.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.retrial.json.Json;
import io.grpc.Status;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import retrial.checker.v1.Checker.CaseErrorCode;
import retrial.checker.v1.Checker.CheckRequest;
import retrial.checker.v1.Checker.CheckResponse;
import retrial.checker.v1.Checker.Open;
import retrial.checker.v1.Checker.Result;

@Timeout(60)
class StreamTest {
  private static final Outcome OK = Outcome.of("ok", "");

  @TempDir Path dir;

  @Test
  void everyCaseIsAnsweredOnceAndTheStreamEnds() throws Exception {
    try (Caller caller = new Caller(Checkers.of(c -> OK), dir)) {
      for (int stream = 0; stream < 2; stream++) {
        caller.begin();
      caller.open();
        caller.send(1, 1);
        caller.send(-300, 256); // ids are unsigned
        caller.stream.onCompleted();
        Set<Long> ids = new HashSet<>();
        int answers = 0;
        while (answers < 257) {
          for (Result r : caller.next().getResultsList()) {
            assertEquals("ok", r.getOutcome().getVerdict());
            ids.add(r.getCaseId());
            answers++;
          }
        }
        assertEquals(257, ids.size());
        assertEquals(Status.OK, caller.status());
      }
    }
  }

  @Test
  void theHandleOfACaseIsItsIdInDecimal() throws Exception {
    try (Caller caller = new Caller(Checkers.of(c -> Outcome.of(c.handle(), "")), dir)) {
      caller.begin();
      caller.open();
      caller.send(1, 1);
      caller.send(-1, 1); // the greatest: ids are unsigned
      caller.stream.onCompleted();
      assertEquals("1", caller.next().getResults(0).getOutcome().getVerdict());
      assertEquals("18446744073709551615", caller.next().getResults(0).getOutcome().getVerdict());
      assertEquals(Status.OK, caller.status());
    }
  }

  @Test
  void aCaseThatFailsLeavesTheOthersAlone() throws Exception {
    AtomicInteger asked = new AtomicInteger();
    Checkers.Rule rule =
        c -> {
          if (asked.incrementAndGet() == 2) {
            throw new StackOverflowError();
          }
          return OK;
        };
    try (Caller caller = new Caller(Checkers.of(rule), dir)) {
      caller.begin();
      caller.open();
      caller.send(1, 3);
      caller.stream.onCompleted();
      CheckResponse all = caller.next();
      assertEquals(CaseErrorCode.CASE_ERROR_CODE_INTERNAL, all.getResults(1).getError().getCode());
      assertTrue(all.getResults(0).hasOutcome() && all.getResults(2).hasOutcome());
      assertEquals(Status.OK, caller.status());
    }
  }

  @Test
  void callersThatBreakTheContractAreToldSo() throws Exception {
    try (Caller caller = new Caller(Checkers.of(c -> OK), dir)) {
      refused(caller, c -> c.send(1, 1));
      refused(caller, c -> c.stream.onCompleted());
      refused(caller, c -> c.stream.onNext(CheckRequest.getDefaultInstance()));
      refused(
          caller,
          c -> {
            c.open();
            c.open();
          });
      refused(
          caller,
          c -> {
            c.open();
            c.stream.onNext(CheckRequest.getDefaultInstance());
            c.stream.onCompleted();
          });
      Open unknown = Open.newBuilder().putParameters("unknown", ByteString.copyFromUtf8("1")).build();
      refused(caller, c -> c.stream.onNext(CheckRequest.newBuilder().setOpen(unknown).build()));
    }
  }

  private static void refused(Caller caller, Consumer<Caller> breaking) throws Exception {
    caller.begin();
    breaking.accept(caller);
    assertEquals(Status.Code.INVALID_ARGUMENT, caller.status().getCode());
  }

  @Test
  void aSlowBatchIsAnsweredInParts() throws Exception {
    CountDownLatch first = new CountDownLatch(1);
    AtomicInteger asked = new AtomicInteger();
    Checkers.Rule rule =
        c -> {
          if (asked.incrementAndGet() == 1) {
            long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(25); // longer than results may wait
            while (System.nanoTime() < until) {
              Thread.onSpinWait();
            }
          } else {
            assertTrue(first.await(20, TimeUnit.SECONDS), "the first case's answer was held back");
          }
          return OK;
        };
    try (Caller caller = new Caller(Checkers.of(rule), dir)) {
      caller.begin();
      caller.open();
      caller.send(1, 2);
      assertEquals(1, caller.next().getResultsCount());
      first.countDown();
      assertTrue(caller.next().getResults(0).hasOutcome());
    }
  }

  @Test
  void aCallerThatReadsNothingIsWaitedFor() throws Exception {
    Outcome large = OK.withOutput(Json.of("x".repeat(1 << 20)));
    int cases = 200;
    CountDownLatch half = new CountDownLatch(cases / 2);
    Checkers.Rule rule =
        c -> {
          half.countDown();
          return large;
        };
    try (Caller caller = new Caller(Checkers.of(rule), dir)) {
      caller.begin();
      caller.open();
      caller.send(1, cases);
      caller.stream.onCompleted();
      int answers = caller.next().getResultsCount();
      // What was decided fits the windows of both sides: far from all of it.
      assertFalse(half.await(2, TimeUnit.SECONDS), "half of the cases were decided while nobody read");
      while (answers < cases) {
        answers += caller.next().getResultsCount();
      }
      assertEquals(Status.OK, caller.status());
    }
  }

  @Test
  void aCallerThatHasGoneIsNoticed() throws Exception {
    CountDownLatch asked = new CountDownLatch(1);
    CountDownLatch noticed = new CountDownLatch(1);
    Checkers.Rule rule =
        c -> {
          asked.countDown();
          while (!c.isCancelled()) {
            Thread.onSpinWait();
          }
          noticed.countDown();
          return OK;
        };
    try (Caller caller = new Caller(Checkers.of(rule), dir)) {
      caller.begin();
      caller.open();
      caller.send(1, 1);
      assertTrue(asked.await(20, TimeUnit.SECONDS));
      caller.stream.cancel("it goes", null);
      assertTrue(noticed.await(20, TimeUnit.SECONDS));
    }
  }
}
