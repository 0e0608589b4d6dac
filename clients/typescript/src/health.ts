import type { ServerUnaryCall, ServerWritableStream, ServiceDefinition, sendUnaryData } from "@grpc/grpc-js";

/** grpc.health.v1 for a server that serves as long as it runs. Its messages are one field each, and are written by hand. */
const serving = Buffer.of(0x08, 0x01); // HealthCheckResponse.status = SERVING

const asIs = (b: Buffer) => b;
const method = (name: string, responseStream: boolean) => ({
  path: `/grpc.health.v1.Health/${name}`,
  requestStream: false,
  responseStream,
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
});

export const healthMethods: ServiceDefinition = { check: method("Check", false), watch: method("Watch", true) };

export const healthService = {
  check: (_call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => answer(null, serving),
  watch: (stream: ServerWritableStream<Buffer, Buffer>) => void stream.write(serving), // it is open until one side ends
};
