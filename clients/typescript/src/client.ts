import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ClientReadableStream } from "@grpc/grpc-js";
import type { Access } from "./access.js";
import { checkGate, noPin, type Pin } from "./check.js";
import {
  GateService,
  type GetGateStatusResponse,
  Status,
  type WatchGateResponse,
} from "./gen/retrial/gate/v1/gate_pb.js";
import { type ReplayRequestSchema, ReplayService } from "./gen/retrial/replay/v1/replay_pb.js";
import { readPin, writePin } from "./pin.js";
import { Replay } from "./replay.js";
import { Connection, statusError } from "./rpc.js";

/** Says how a client reaches a server, and what it remembers. */
export interface ClientOptions extends Access {
  /** The file that remembers the server's log between two processes. Without one a server that goes back in time is noticed only by this client. */
  readonly pinFile?: string;
}

/** What a replay is asked for: a ReplayRequest, in which a checker of the registry can be named by a string. */
export type ReplayOptions = Omit<
  Extract<MessageInitShape<typeof ReplayRequestSchema>, { $typeName?: never }>,
  "baseline" | "candidate"
> & {
  readonly baseline: CheckerReference;
  readonly candidate: CheckerReference;
};

type CheckerReference = string | NonNullable<MessageInitShape<typeof ReplayRequestSchema>["baseline"]>;

/** What the gate is asked for beside the release. */
export interface GateOptions {
  /** The sets. Default: those that the server requires, or else all that it keeps. */
  readonly sets?: readonly string[];
  /** The instant to answer for. Default: now. */
  readonly asOf?: Date;
}

/** A client of the service. */
export class Client {
  /** The connection, for the generated methods that have no function here. */
  readonly connection: Connection;
  private readonly pinFile: string | undefined;
  private pin: Pin | undefined;
  private turn: Promise<unknown> = Promise.resolve();

  constructor(target: string, options: ClientOptions = {}) {
    this.connection = new Connection(target, options);
    this.pinFile = options.pinFile;
  }

  /** Begins a replay. A caller that sees no decision has a block. */
  replay(options: ReplayOptions): Replay {
    const request = { ...options, baseline: reference(options.baseline), candidate: reference(options.candidate) };
    return new Replay(this.connection.serverStream(ReplayService.method.replay, request), options);
  }

  /**
   * Asks how a release stands, and holds the answer against the question and the server's log. It rejects with a TamperedError where that
   * does not hold, and with a StatusError where the server cannot be asked. Nothing but Status.PASS is a pass.
   */
  gateStatus(release: string, options: GateOptions = {}): Promise<GetGateStatusResponse> {
    // One after the other: an answer that is older than what another one has pinned would look like a server that went back.
    const out = this.turn.then(() => this.checkedStatus(release, options));
    this.turn = out.catch(() => undefined);
    return out;
  }

  private async checkedStatus(release: string, { sets = [], asOf }: GateOptions): Promise<GetGateStatusResponse> {
    // The file is shared: another process may have seen more of the log since.
    this.pin = this.pinFile === undefined ? (this.pin ?? noPin) : await readPin(this.pinFile);
    const at = asOf === undefined ? {} : { asOf: timestampFromDate(asOf) };
    const request = { release, sets: [...sets], ...at };
    const answer = await this.connection.unary(GateService.method.getGateStatus, request);
    const pin = await checkGate(this.connection, request, answer, this.pin);
    if (this.pinFile !== undefined && JSON.stringify(pin) !== JSON.stringify(this.pin)) {
      await writePin(this.pinFile, pin);
    }
    this.pin = pin;
    return answer;
  }

  /** Waits while a release stands at UNKNOWN, at most until the signal is aborted; then it gives how the release stands, as gateStatus does. */
  async waitForGate(
    release: string,
    signal: AbortSignal,
    sets: readonly string[] = [],
  ): Promise<GetGateStatusResponse> {
    const stream = this.connection.serverStream(GateService.method.watchGate, { release, sets: [...sets] });
    const cancel = () => stream.cancel();
    signal.addEventListener("abort", cancel);
    try {
      return await this.settled(stream, release, signal, sets);
    } finally {
      signal.removeEventListener("abort", cancel);
      cancel();
    }
  }

  private async settled(
    stream: ClientReadableStream<WatchGateResponse>,
    release: string,
    signal: AbortSignal,
    sets: readonly string[],
  ): Promise<GetGateStatusResponse> {
    if (signal.aborted) {
      stream.cancel();
    }
    try {
      for await (const change of stream) {
        if ((change as WatchGateResponse).current?.status === Status.UNKNOWN) {
          continue;
        }
        const answer = await this.gateStatus(release, { sets });
        if (answer.status !== Status.UNKNOWN) {
          return answer;
        }
      }
    } catch (thrown) {
      if (!signal.aborted) {
        throw thrown instanceof Error && !("details" in thrown) ? thrown : statusError(thrown);
      }
    }
    return this.gateStatus(release, { sets });
  }

  /** Ends the connection. */
  close(): void {
    this.connection.close();
  }
}

function reference(checker: CheckerReference): Exclude<CheckerReference, string> {
  return typeof checker === "string" ? { checker: { case: "name", value: checker } } : checker;
}
