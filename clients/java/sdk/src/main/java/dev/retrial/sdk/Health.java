package dev.retrial.sdk;

import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCalls;
import java.io.ByteArrayInputStream;
import java.io.InputStream;

/**
 * The service grpc.health.v1 for a server that serves as long as it runs. Its messages are one field each, and are written by hand: the
 * library that has them brings five others.
 */
final class Health {
  /** HealthCheckResponse.status = SERVING. */
  private static final byte[] SERVING = {0x08, 0x01};

  private static final MethodDescriptor.Marshaller<byte[]> BYTES =
      new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(byte[] message) {
          return new ByteArrayInputStream(message);
        }

        @Override
        public byte[] parse(InputStream message) {
          return new byte[0]; // which service is asked for makes no difference
        }
      };

  private Health() {}

  static ServerServiceDefinition service() {
    return ServerServiceDefinition.builder("grpc.health.v1.Health")
        .addMethod(
            method("Check", MethodType.UNARY),
            ServerCalls.asyncUnaryCall(
                (request, caller) -> {
                  caller.onNext(SERVING);
                  caller.onCompleted();
                }))
        .addMethod(
            method("Watch", MethodType.SERVER_STREAMING),
            // It is open until one side ends.
            ServerCalls.asyncServerStreamingCall((request, caller) -> caller.onNext(SERVING)))
        .build();
  }

  private static MethodDescriptor<byte[], byte[]> method(String name, MethodType type) {
    return MethodDescriptor.<byte[], byte[]>newBuilder(BYTES, BYTES)
        .setType(type)
        .setFullMethodName("grpc.health.v1.Health/" + name)
        .build();
  }
}
