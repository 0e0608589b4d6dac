import { lstat, unlink } from "node:fs/promises";
import { connect, isIPv4, type Socket } from "node:net";
import { type Server, ServerCredentials } from "@grpc/grpc-js";
import type { Checker } from "./checker.js";
import { serverOf } from "./service.js";

/** How long the calls under way are waited for when a server stops. */
export const stopMilliseconds = 5000;

/**
 * Serves a checker at "unix:/path" or "host:port" until the signal is aborted. A socket that nobody listens at any more is
 * replaced. Once it accepts calls, it says so on stderr. It rejects where it cannot listen.
 */
export async function listen(checker: Checker, address: string, signal: AbortSignal): Promise<void> {
  const server = serverOf(checker);
  const path = /^unix:(.*)$/s.exec(address)?.[1];
  if (path !== undefined) {
    await removeStale(path);
  }
  const port = await bindTo(server, address.startsWith(":") ? `[::]${address}` : address);
  const display = path === undefined ? address.replace(/:0$/, `:${port}`) : address;
  process.stderr.write(`${checker.description.name} listens at ${display}\n`);
  await aborted(signal);
  await stop(server);
}

/** Binds a server to an address of grpc-js; gives the port, or 1 for a socket. */
export function bindTo(server: Server, address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(new Error(`listen at ${address}: ${error.message}`, { cause: error })),
    );
  });
}

/** Ends a server in order: calls under way may come to their end within a few seconds. */
export function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const hard = setTimeout(() => {
      server.forceShutdown();
      resolve();
    }, stopMilliseconds);
    server.tryShutdown(() => {
      clearTimeout(hard);
      resolve();
    });
  });
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
    }
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Connects to a unix socket. */
export function connectTo(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once("error", reject).once("connect", () => {
      socket.off("error", reject);
      resolve(socket);
    });
  });
}

/** Looks before it removes: to connect to a file that is no socket is refused as well. */
async function removeStale(path: string): Promise<void> {
  try {
    (await connectTo(path)).destroy();
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code !== "ECONNREFUSED" && (e as NodeJS.ErrnoException).code !== "ENOTSOCK") {
      return; // there is nothing, or bind says what is wrong
    }
    if (!(await lstat(path)).isSocket()) {
      throw new Error(`listen at unix:${path}: there is a file that is no socket`);
    }
    await unlink(path);
    return;
  }
  throw new Error(`listen at unix:${path}: another process does`);
}

/** Says whether only this machine reaches an address. */
export function isLocal(address: string): boolean {
  const host = /^(?:\[(.*)\]|([^:]*)):[0-9]+$/.exec(address);
  const name = host?.[1] ?? host?.[2] ?? "";
  return (
    address.startsWith("unix:") || name === "localhost" || name === "::1" || (isIPv4(name) && name.startsWith("127."))
  );
}
