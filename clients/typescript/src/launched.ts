import { randomBytes } from "node:crypto";
import { writeSync } from "node:fs";
import { join } from "node:path";
import type { Checker } from "./checker.js";
import { contractVersion } from "./describe.js";
import { aborted, bindTo, stop } from "./listen.js";
import { serverOf } from "./service.js";

/** The version of go-plugin's handshake. */
const handshakeVersion = 1;

/**
 * Serves the process that has launched this one: at a socket in the directory that it names, which a line on stdout tells it.
 * https://github.com/hashicorp/go-plugin/blob/main/docs/guide-plugin-write-non-go.md
 */
export async function serveLauncher(checker: Checker, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const dir = env.PLUGIN_UNIX_SOCKET_DIR;
  if (dir === undefined || dir === "") {
    throw new Error("PLUGIN_UNIX_SOCKET_DIR names no directory for the socket");
  }
  const server = serverOf(checker);
  const path = join(dir, `plugin${randomBytes(5).toString("hex")}`); // as short as go-plugin's: the host has reckoned with it
  await bindTo(server, `unix:${path}`);
  writeSync(1, `${handshakeVersion}|${contractVersion}|unix|${path}|grpc|\n`);
  await aborted(signal);
  await stop(server);
}
