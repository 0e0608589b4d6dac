import { setImmediate } from "node:timers/promises";
import { toBinary } from "@bufbuild/protobuf";
import {
  Server,
  type ServerDuplexStream,
  type ServiceDefinition,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { Case } from "./case.js";
import type { Checker } from "./checker.js";
import { decide } from "./decide.js";
import { describe } from "./describe.js";
import { bounded } from "./errors.js";
import { CheckerService, DescribeResponseSchema } from "./gen/retrial/checker/v1/checker_pb.js";
import { healthMethods, healthService } from "./health.js";
import { bind, type ParameterDefinitions, type ParameterValues } from "./parameters.js";
import { type Request, Results, readRequest } from "./wire.js";

const maxMessageBytes = 32 << 20;

/** Results are sent when a batch is done, when there are this many bytes of them, or when the first of them is this old. */
const flushBytes = 1 << 20;
const flushMilliseconds = 20;

type Stream = ServerDuplexStream<Request, Buffer>;

/** Makes a server of the contract over a checker, with the health service beside it. A TypeError for a description that is not usable. */
export function serverOf(checker: Checker): Server {
  const description = Buffer.from(toBinary(DescribeResponseSchema, describe(checker.description)));
  const server = new Server({
    "grpc.max_receive_message_length": maxMessageBytes,
    "grpc.max_send_message_length": maxMessageBytes,
  });
  server.addService(definition, {
    describe: (_call: unknown, answer: sendUnaryData<Buffer>) => answer(null, description),
    check: (stream: Stream) => void new CheckStream(checker, stream).serve(),
  } satisfies UntypedServiceImplementation);
  server.addService(healthMethods, healthService);
  return server;
}

const asIs = (b: Buffer) => b;

const definition: ServiceDefinition = {
  describe: {
    path: `/${CheckerService.typeName}/${CheckerService.method.describe.name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  },
  check: {
    path: `/${CheckerService.typeName}/${CheckerService.method.check.name}`,
    requestStream: true,
    responseStream: true,
    requestSerialize: asIs,
    requestDeserialize: readRequest,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  },
};

/** @internal One stream of cases. It takes requests as fast as it answers them, and answers as fast as the caller takes them. */
export class CheckStream {
  private readonly results = new Results();
  private parameters: ParameterValues<ParameterDefinitions> | undefined;
  private readonly abort = new AbortController();

  constructor(
    private readonly checker: Checker,
    private readonly stream: Stream,
  ) {
    stream.once("cancelled", () => this.abort.abort());
  }

  async serve(): Promise<void> {
    try {
      // To end the iteration must not destroy the stream: the answers are still to come.
      for await (const request of this.stream.iterator({ destroyOnReturn: false })) {
        await this.take(request as Request);
      }
      if (this.parameters === undefined) {
        throw new BadStream("the stream ended before it was opened");
      }
      this.stream.end();
    } catch (thrown) {
      if (this.stream.cancelled) {
        return; // nobody waits
      }
      const code = thrown instanceof BadStream ? status.INVALID_ARGUMENT : status.INTERNAL;
      this.stream.emit("error", { code, details: bounded(String(thrown instanceof Error ? thrown.message : thrown)) });
    }
  }

  private async take(request: Request): Promise<void> {
    if (this.parameters === undefined) {
      if (request.open === undefined || request.cases.length > 0) {
        throw new BadStream("the first request must open the stream, and carry no cases");
      }
      try {
        this.parameters = bind(this.checker.description.parameters ?? {}, request.open);
      } catch (e) {
        throw new BadStream(`open: ${(e as Error).message}`);
      }
      return;
    }
    if (request.open !== undefined || request.cases.length === 0) {
      throw new BadStream("every request but the first must carry cases, and nothing else");
    }
    await this.batch(request, this.parameters);
  }

  /** Decides the cases of one request, in their order. */
  private async batch(request: Request, parameters: ParameterValues<ParameterDefinitions>): Promise<void> {
    const signal = () => this.abort.signal;
    let first = performance.now();
    for (const asked of request.cases) {
      const answer = decide(this.checker, new Case(asked.input, asked.stubs, parameters, signal, asked.id));
      this.results.add(asked.id, answer instanceof Promise ? await answer : answer);
      if (this.results.size >= flushBytes || performance.now() - first >= flushMilliseconds) {
        await this.flush();
        first = performance.now();
      }
    }
    if (this.results.size > 0) {
      await this.flush();
    }
  }

  private async flush(): Promise<void> {
    if (this.stream.cancelled) {
      throw new Error("cancelled");
    }
    if (!this.stream.write(this.results.take())) {
      await this.drained();
    }
    // A checker that never waits would keep everything else from being heard: that the caller has gone, a signal, health.
    await setImmediate();
  }

  private drained(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.stream.off("drain", done).off("close", done);
        resolve();
      };
      this.stream.on("drain", done).on("close", done);
    });
  }
}

/** Says that the caller has broken the contract. */
class BadStream extends Error {}
