import {
  create,
  type DescMessage,
  type DescMethodBiDiStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import {
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  Metadata,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { type Access, channelCredentials } from "./access.js";
import { isLocal } from "./listen.js";

const maxReceiveBytes = 16 << 20;
const windowBytes = 4 << 20;

/** Says that a call ended with a status other than OK. */
export class StatusError extends Error {
  override readonly name = "StatusError";

  constructor(
    /** The gRPC status code. */
    readonly code: status,
    details: string,
  ) {
    super(`${status[code]}: ${details}`);
  }
}

/** A connection to a server: generated methods over grpc-js. */
export class Connection {
  private readonly client: Client;
  private readonly token: string | undefined;

  constructor(
    /** Where the server is: "host:port" or "unix:/path". */
    readonly target: string,
    access: Access,
  ) {
    this.token = access.token;
    this.client = new Client(target, channelCredentials(access), {
      "grpc.max_receive_message_length": maxReceiveBytes,
      "grpc-node.flow_control_window": windowBytes,
      "grpc.use_local_subchannel_pool": 1, // the pauses of one that has failed are not another's
      "grpc.enable_http_proxy": isLocal(target) ? 0 : 1,
    });
  }

  /** Calls a method. It rejects with a StatusError, and with the signal's reason where that is aborted. */
  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    signal?: AbortSignal,
  ): Promise<MessageShape<O>> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const call = this.client.makeUnaryRequest(
        ...functions(method),
        create(method.input, request),
        this.metadata(),
        (error: ServiceError | null, response?: MessageShape<O>) => {
          signal?.removeEventListener("abort", cancel);
          if (error === null && response !== undefined) {
            resolve(response);
          } else {
            reject(signal?.aborted ? signal.reason : statusError(error));
          }
        },
      );
      const cancel = () => call.cancel();
      signal?.addEventListener("abort", cancel);
    });
  }

  serverStream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageInitShape<I>,
  ): ClientReadableStream<MessageShape<O>> {
    return this.client.makeServerStreamRequest(...functions(method), create(method.input, request), this.metadata());
  }

  bidiStream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodBiDiStreaming<I, O>,
  ): ClientDuplexStream<MessageShape<I>, MessageShape<O>> {
    return this.client.makeBidiStreamRequest(...functions(method), this.metadata());
  }

  close(): void {
    this.client.close();
  }

  private metadata(): Metadata {
    const out = new Metadata();
    if (this.token !== undefined) {
      out.set("authorization", `Bearer ${this.token}`);
    }
    return out;
  }
}

/** Makes a StatusError of whatever grpc-js has thrown. */
export function statusError(error: unknown): StatusError {
  const { code, details, message } = (error ?? {}) as Partial<ServiceError>;
  return new StatusError(code ?? status.UNKNOWN, details ?? message ?? "no details");
}

function functions<I extends DescMessage, O extends DescMessage>(method: {
  readonly parent: { readonly typeName: string };
  readonly name: string;
  readonly input: I;
  readonly output: O;
}): [string, (m: MessageShape<I>) => Buffer, (b: Buffer) => MessageShape<O>] {
  return [
    `/${method.parent.typeName}/${method.name}`,
    (m) => Buffer.from(toBinary(method.input, m)),
    (b) => fromBinary(method.output, b),
  ];
}
