package dev.retrial.sdk;

import io.grpc.Status;
import io.grpc.StatusException;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import retrial.registry.v1.Registry.Instance;
import retrial.registry.v1.RegistryServiceGrpc;

/**
 * Offers a checker to a server under a name, without a port of its own.
 *
 * @param target the server: "host:port" or "unix:/path"
 * @param ca and {@code token} as {@link Access#to} takes them
 */
record Attachment(Checker checker, String target, String name, String ca, String token) {
  /** Bounds of the pauses between two attempts, in milliseconds. */
  private static final long FIRST_PAUSE = 250;

  private static final long LAST_PAUSE = 30_000;

  /**
   * Attaches again and again until it is told to stop. Between two attempts it pauses, longer each time that the checker has not come to
   * be attached, at most half a minute. Each error is handed to {@code log}. A StatusException where another attempt would be of no use:
   * the server does not know Attach, or does not admit the caller or the name.
   */
  void keep(CompletableFuture<Void> told, Consumer<String> log) throws IOException, InterruptedException, StatusException {
    long pause = FIRST_PAUSE;
    while (!told.isDone()) {
      boolean[] attached = {false}; // written before the stream ends, which is waited for
      Status end = attach(told, instance -> {
        attached[0] = true;
        System.err.printf(
            "%s is attached to %s as %s, instance %s%n", checker.describe().name(), target, name, instance.getInstanceId());
      });
      if (told.isDone()) {
        return;
      }
      if (attached[0]) {
        pause = FIRST_PAUSE;
      }
      String why = end.isOk() ? "the server has ended the connection" : String.valueOf(end.getDescription());
      Status status = end.withDescription("attach \"" + name + "\": " + why);
      if (isFinal(end.getCode())) {
        throw status.asException();
      }
      log.accept(status.getDescription() + "; trying again");
      await(told, pause / 2 + ThreadLocalRandom.current().nextLong(pause / 2));
      pause = Math.min(2 * pause, LAST_PAUSE);
    }
  }

  private static void await(CompletableFuture<Void> told, long milliseconds) throws InterruptedException {
    try {
      told.get(milliseconds, TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      // It goes on.
    } catch (ExecutionException e) {
      throw new AssertionError(e); // nothing completes it with an exception
    }
  }

  /** Attaches once, until one side ends it or it is told to stop: then the runs that ask the checker may come to their ends. */
  private Status attach(CompletableFuture<Void> told, Consumer<Instance> attached) throws IOException, InterruptedException {
    Access access = Access.to(target, ca, token);
    Path dir = Files.createTempDirectory("retrial-"); // nobody else may enter it
    CheckerServer server = null;
    try {
      Path socket = dir.resolve("s");
      server = CheckerServer.at(checker, socket);
      SocketChannel connection = Sockets.connect(socket);
      Files.delete(socket);
      CompletableFuture<Void> stop = told.thenRunAsync(server::stop);
      Status end = Bridge.run(RegistryServiceGrpc.newStub(access.channel()), name, connection, attached);
      stop.cancel(false);
      return end;
    } finally {
      if (server != null) {
        server.stop();
      }
      access.close().run();
      Files.deleteIfExists(dir.resolve("s"));
      Files.delete(dir);
    }
  }

  private static boolean isFinal(Status.Code code) {
    return switch (code) {
      case INVALID_ARGUMENT, PERMISSION_DENIED, UNAUTHENTICATED, ALREADY_EXISTS, UNIMPLEMENTED -> true;
      default -> false;
    };
  }
}
