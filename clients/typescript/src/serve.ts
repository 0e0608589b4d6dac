import { writeSync } from "node:fs";
import { keepAttached } from "./attach.js";
import type { Checker } from "./checker.js";
import { describe } from "./describe.js";
import { bounded } from "./errors.js";
import { serveLauncher } from "./launched.js";
import { isLocal, listen } from "./listen.js";
import { isLaunched } from "./stdout.js";

/**
 * Runs a checker until it is told to stop, and ends the process with the exit status that says how that went. Where Retrial has
 * launched the process, it serves Retrial; where RETRIAL_LISTEN is set ("unix:/run/checker.sock" or "127.0.0.1:9000"), it listens
 * there; where RETRIAL_ATTACH (a server) and RETRIAL_ATTACH_NAME (a name there) are, it attaches, again whenever it is cut off, with
 * the authorities of the file RETRIAL_CA ("system" for those that Node trusts) and the token RETRIAL_TOKEN. Otherwise it says how it
 * is meant to run. It writes nothing to stdout but the handshake, and what goes wrong to stderr.
 */
export async function serve(checker: Checker): Promise<never> {
  // A promise that nobody awaited has failed, or a callback has thrown: which cases it bears on is not known, so that no answer counts.
  process.on("uncaughtException", (thrown) => die(thrown));
  process.on("unhandledRejection", (thrown) => die(thrown));
  process.exit(await run(checker, process.env));
}

function die(thrown: unknown): never {
  let text: string;
  try {
    text = String(thrown instanceof Error ? thrown.stack : thrown);
  } catch {
    text = "something that cannot be shown";
  }
  writeSync(2, `retrial: not caught by the checker: ${bounded(text)}\n`);
  process.exit(1);
}

async function run(checker: Checker, env: NodeJS.ProcessEnv): Promise<number> {
  try {
    describe(checker.description);
  } catch (e) {
    say(`this checker's description is not usable: ${(e as Error).message}`);
    return 2;
  }
  const { RETRIAL_LISTEN: address = "", RETRIAL_ATTACH: target = "", RETRIAL_ATTACH_NAME: name = "" } = env;
  if (isLaunched(env)) {
    process.on("SIGINT", () => undefined); // it is meant for the host, which ends its checkers itself
    return untilSignal(["SIGTERM"], (signal) => serveLauncher(checker, env, signal));
  }
  if (address !== "" && target !== "") {
    say("RETRIAL_LISTEN and RETRIAL_ATTACH exclude each other");
    return 2;
  }
  if ((target === "") !== (name === "")) {
    say("RETRIAL_ATTACH and RETRIAL_ATTACH_NAME go together");
    return 2;
  }
  if (address !== "") {
    return untilSignal(["SIGTERM", "SIGINT"], (signal) => listen(checker, address, signal));
  }
  if (target !== "") {
    return untilSignal(["SIGTERM", "SIGINT"], (signal) => attachAsTold(checker, target, name, env, signal));
  }
  const d = checker.description;
  process.stderr.write(`${d.name} ${d.version} is a checker for Retrial. Name this program as a checker's command in retrial.yaml,
or set RETRIAL_LISTEN to an address for it to listen at, such as unix:/run/checker.sock or 127.0.0.1:9000,
or RETRIAL_ATTACH and RETRIAL_ATTACH_NAME to the address of a server and a name of its own there.
`);
  return 2;
}

function attachAsTold(
  checker: Checker,
  target: string,
  name: string,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<void> {
  const { RETRIAL_CA: ca = "", RETRIAL_TOKEN: token = "" } = env;
  return keepAttached(
    checker,
    {
      target,
      name,
      ...(ca === "system" ? { tls: true } : ca === "" ? {} : { ca }),
      ...(token === "" ? {} : { token, insecureToken: isLocal(target) }),
      onAttached: (instance) =>
        process.stderr.write(
          `${checker.description.name} is attached to ${target} as ${name}, instance ${instance?.instanceId}\n`,
        ),
    },
    signal,
    say,
  );
}

/** Serves until the process is told to stop, and gives the exit status. */
async function untilSignal(
  signals: NodeJS.Signals[],
  serving: (signal: AbortSignal) => Promise<void>,
): Promise<number> {
  const told = new AbortController();
  for (const s of signals) {
    process.on(s, () => told.abort());
  }
  try {
    await serving(told.signal);
    return 0;
  } catch (e) {
    say((e as Error).message);
    return 1;
  }
}

function say(line: string): void {
  process.stderr.write(`retrial: ${line}\n`);
}
