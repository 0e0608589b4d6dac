import { mkdtemp, rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { type Server, status } from "@grpc/grpc-js";
import type { Access } from "./access.js";
import { bridge, isFinal } from "./bridge.js";
import type { Checker } from "./checker.js";
import { type Instance, RegistryService } from "./gen/retrial/registry/v1/registry_pb.js";
import { bindTo, connectTo, stop } from "./listen.js";
import { Connection, StatusError } from "./rpc.js";
import { serverOf } from "./service.js";

/** Says where a checker attaches. */
export interface AttachOptions extends Access {
  /** The server: "host:port" or "unix:/path". */
  readonly target: string;
  /** The name under which runs can name the checker. */
  readonly name: string;
  /** Called once the checker can be named, with the instance as the server lists it. */
  readonly onAttached?: (instance: Instance | undefined) => void;
}

/**
 * Offers a checker to a server under a name, without a port of its own, until the signal is aborted: then the runs that ask it may
 * come to their ends, within a few seconds. In any other case it rejects with a StatusError that says why the checker can no longer
 * be named. It does not attach again by itself: keepAttached does.
 */
export async function attach(checker: Checker, options: AttachOptions, signal: AbortSignal): Promise<void> {
  const server = serverOf(checker);
  let connection: Connection | undefined;
  try {
    connection = new Connection(options.target, options);
    await bridged(connection, options, server, await ownConnection(server), signal);
  } finally {
    server.forceShutdown();
    connection?.close();
  }
}

async function bridged(
  connection: Connection,
  options: AttachOptions,
  server: Server,
  socket: Socket,
  signal: AbortSignal,
): Promise<void> {
  const stream = connection.bidiStream(RegistryService.method.attach);
  let stopped: Promise<void> | undefined;
  const end = () => {
    stopped = stop(server)
      .then(() => socket.destroy())
      .then(() => undefined);
  };
  if (signal.aborted) {
    end();
  }
  signal.addEventListener("abort", end, { once: true });
  const { code, details } = await bridge(stream, options.name, socket, options.onAttached ?? (() => undefined));
  signal.removeEventListener("abort", end);
  if (stopped !== undefined) {
    return stopped;
  }
  const why = code === status.OK ? "the server has ended the connection" : details;
  throw new StatusError(code, `attach ${JSON.stringify(options.name)}: ${why}`);
}

/** Connects to a server over a private socket. Nothing of it is left in the file system. */
async function ownConnection(server: Server): Promise<Socket> {
  const base = tmpdir().length > 60 ? "/tmp" : tmpdir(); // the path of a socket is bounded
  const dir = await mkdtemp(join(base, "retrial-"));
  try {
    const path = join(dir, "s");
    await bindTo(server, `unix:${path}`);
    return await connectTo(path);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Bounds of the pauses between two attempts to attach. */
const firstPause = 250;
const lastPause = 30_000;

/**
 * Attaches a checker again and again until the signal is aborted. Between two attempts it pauses, longer each time that the checker has
 * not come to be attached, at most half a minute. Each error is handed to `log`. It rejects where another attempt would be of no use:
 * the server does not know Attach, or does not admit the caller or the name.
 */
export async function keepAttached(
  checker: Checker,
  options: AttachOptions,
  signal: AbortSignal,
  log: (line: string) => void,
): Promise<void> {
  let pause = firstPause;
  const onAttached = (instance: Instance | undefined) => {
    pause = firstPause;
    options.onAttached?.(instance);
  };
  while (!signal.aborted) {
    try {
      await attach(checker, { ...options, onAttached }, signal);
    } catch (error) {
      if (!(error instanceof StatusError) || isFinal(error.code)) {
        throw error;
      }
      log(`${error.message}; trying again`);
    }
    await setTimeout(pause / 2 + Math.random() * (pause / 2), undefined, { signal }).catch(() => undefined);
    pause = Math.min(2 * pause, lastPause);
  }
}
