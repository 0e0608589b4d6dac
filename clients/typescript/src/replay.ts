import type { ClientReadableStream } from "@grpc/grpc-js";
import { type Decision, Ruling } from "./gen/retrial/gate/v1/gate_pb.js";
import type { ReplayResponse, Started } from "./gen/retrial/replay/v1/replay_pb.js";
import { statusError } from "./rpc.js";

/** Says that a replay ended without a decision that can be relied on. It is a block: nothing was shown. */
export class NoDecisionError extends Error {
  override readonly name = "NoDecisionError";

  constructor(why: string, options?: ErrorOptions) {
    super(`no decision: ${why}`, options);
  }
}

/** One event of a replay. */
export type ReplayEvent = Exclude<ReplayResponse["event"], { case: undefined }>;

/**
 * One replay under way. To iterate over it gives its events in their order, up to the decision, which is one of them; it throws a
 * NoDecisionError where the stream is cut or breaks its contract. To leave the iteration cancels the replay.
 */
export class Replay implements AsyncIterable<ReplayEvent> {
  private started: Started | undefined;
  private decided: Decision | undefined;
  private over = false;
  private error: NoDecisionError | undefined;
  private readonly events: AsyncGenerator<ReplayEvent, void>;
  private begun = false;

  constructor(
    private readonly stream: ClientReadableStream<ReplayResponse>,
    private readonly asked: { set?: string | undefined; release?: string | undefined },
  ) {
    stream.on("error", () => undefined); // the iteration says it
    this.events = this.read();
  }

  [Symbol.asyncIterator](): AsyncIterator<ReplayEvent> {
    this.begun = true;
    return this.events;
  }

  /**
   * The decision, once the events have come to their end; where nobody iterates over them it waits for that. It rejects with a
   * NoDecisionError in any other case.
   */
  async decision(): Promise<Decision> {
    if (!this.begun) {
      for await (const _ of this) {
        // they are held against the contract
      }
    }
    if (this.error !== undefined) {
      throw this.error;
    }
    if (!this.over || this.decided === undefined) {
      throw new NoDecisionError("the events were not read to their end");
    }
    return this.decided;
  }

  private async *read(): AsyncGenerator<ReplayEvent, void> {
    try {
      for await (const response of this.stream) {
        yield this.next((response as ReplayResponse).event);
      }
      if (this.decided === undefined) {
        throw new NoDecisionError("the stream ended without one");
      }
      this.over = true;
    } catch (thrown) {
      const broken = thrown instanceof NoDecisionError;
      const cause = broken ? thrown : statusError(thrown);
      this.error = broken ? thrown : new NoDecisionError(cause.message, { cause });
      throw this.error;
    } finally {
      this.stream.cancel();
    }
  }

  /** Holds an event against those before it. */
  private next(event: ReplayResponse["event"]): ReplayEvent {
    if (this.decided !== undefined) {
      throw new NoDecisionError("the stream went on behind the decision");
    }
    if (this.started === undefined && event.case !== "started") {
      throw new NoDecisionError("the stream does not begin with the start of the replay");
    }
    switch (event.case) {
      case "started":
        if (this.started !== undefined) {
          throw new NoDecisionError("the stream started twice");
        }
        this.started = event.value;
        return event;
      case "decision":
        this.checkSound(event.value);
        this.decided = event.value;
        return event;
      case "progress":
      case "finding":
        return event;
      default:
        throw new NoDecisionError("the stream carries an event that this release does not know");
    }
  }

  /** Holds a decision against what the stream said before, and a pass against its own counts. */
  private checkSound(d: Decision): void {
    if (this.started?.replayId !== d.replayId) {
      throw new NoDecisionError(
        `the decision is of replay ${JSON.stringify(d.replayId)}, the stream of ${JSON.stringify(this.started?.replayId)}`,
      );
    }
    if (d.set !== (this.asked.set ?? "") || d.release !== (this.asked.release ?? "")) {
      throw new NoDecisionError(
        `the decision is about release ${JSON.stringify(d.release)} on set ${JSON.stringify(d.set)}, and something else was asked for`,
      );
    }
    const whole =
      d.expected > 0n &&
      d.confirmed > 0n &&
      d.confirmed + d.excused === d.expected &&
      d.evaluated === d.expected &&
      d.expected === this.started.hermeticCount;
    if (d.ruling === Ruling.PASS && !whole) {
      throw new NoDecisionError(
        `a pass over ${d.expected} fixtures, of which ${d.confirmed} were confirmed, ${d.excused} excused and ${d.evaluated} tried, is none`,
      );
    }
  }
}

/** Says whether a decision lets a release go out: false for none, for every ruling but a pass, and for one over some of the fixtures. */
export function passed(d: Decision | undefined): boolean {
  return d?.ruling === Ruling.PASS && !d.partial;
}
