import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceError, StatusObject } from "@grpc/grpc-js";
import {
  CheckerService,
  CheckRequestSchema,
  type CheckResponse,
  type Result,
} from "../src/gen/retrial/checker/v1/checker_pb.js";
import { Connection } from "../src/rpc.js";

/** The directory of the compiled files, that of the repository, and the Go binary, which `npm test` builds. */
export const dist = dirname(dirname(fileURLToPath(import.meta.url)));
export const repository = join(dist, "../../..");
export const binary = join(dist, "retrial");

/** The file of a compiled checker: one of test/checkers, or an example. */
export const checkerFile = (name: string) => join(dist, "test/checkers", `${name}.js`);
export const promotion = join(dist, "examples/promotion.js");

/** Makes a directory that ends with the test. Its path is short enough for a socket. */
export function temporary(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), "ts-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** A child process with what it has printed. It ends with the test. */
export class Program {
  stdout = "";
  stderr = "";
  readonly ended: Promise<{ code: number | null; signal: string | null }>;
  private readonly child: ChildProcess;
  private listeners: (() => void)[] = [];

  constructor(t: TestContext, command: string, args: string[], env: Record<string, string> = {}, cwd?: string) {
    this.child = spawn(command, args, {
      env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", ...env },
      stdio: ["ignore", "pipe", "pipe"],
      ...(cwd === undefined ? {} : { cwd }),
    });
    this.ended = new Promise((resolve, reject) => {
      this.child.once("error", reject);
      this.child.once("close", (code, signal) => {
        resolve({ code, signal });
        this.tell();
      });
    });
    for (const name of ["stdout", "stderr"] as const) {
      this.child[name]?.setEncoding("utf8").on("data", (text: string) => {
        this[name] += text;
        this.tell();
      });
    }
    t.after(async () => {
      this.child.kill("SIGKILL");
      await this.ended;
    });
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Waits until what was printed matches. It rejects where the process ends without. */
  async until(name: "stdout" | "stderr", pattern: RegExp): Promise<RegExpExecArray> {
    let over = false;
    void this.ended.then(() => {
      over = true;
    });
    for (;;) {
      const match = pattern.exec(this[name]);
      if (match !== null) {
        return match;
      }
      assert.ok(!over, `ended without ${pattern}:\n${this.stdout}${this.stderr}`);
      await new Promise<void>((resolve) => this.listeners.push(resolve));
    }
  }

  private tell(): void {
    const listeners = this.listeners;
    this.listeners = [];
    for (const listener of listeners) {
      listener();
    }
  }
}

/** Runs a program to its end. */
export async function execute(
  t: TestContext,
  command: string,
  args: string[],
  env?: Record<string, string>,
  cwd?: string,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const p = new Program(t, command, args, env, cwd);
  const { code } = await p.ended;
  return { code, stdout: p.stdout, stderr: p.stderr };
}

/** What a host sets for a checker that it launches. */
export function launchedEnvironment(dir: string): Record<string, string> {
  return { RETRIAL_CHECKER: "d1c7b2e0-checker-plugin", PLUGIN_UNIX_SOCKET_DIR: dir, PLUGIN_PROTOCOL_VERSIONS: "1" };
}

/** Launches a checker as a host does, and connects to it. */
export async function launch(t: TestContext, file: string): Promise<{ program: Program; connection: Connection }> {
  const dir = temporary(t);
  const program = new Program(t, process.execPath, [file], launchedEnvironment(dir));
  const line = await program.until("stdout", /^(.*)\n/);
  const [, path] = /^1\|1\|unix\|(.*)\|grpc\|$/.exec(line[1] ?? "") ?? [];
  assert.ok(path?.startsWith(dir), `the handshake is ${line[1]}`);
  const connection = new Connection(`unix:${path}`, {});
  t.after(() => connection.close());
  return { program, connection };
}

export type Requests = Iterable<MessageInitShape<typeof CheckRequestSchema>>;

/** Asks a checker over one stream; gives the results by case, and the messages that they came in. */
export async function ask(
  connection: Connection,
  requests: Requests,
): Promise<{ results: Map<bigint, Result>; messages: CheckResponse[]; end: StatusObject }> {
  const stream = connection.bidiStream(CheckerService.method.check);
  const results = new Map<bigint, Result>();
  const messages: CheckResponse[] = [];
  stream.on("data", (message: CheckResponse) => {
    messages.push(message);
    for (const r of message.results) {
      assert.ok(!results.has(r.caseId), `case ${r.caseId} was answered twice`);
      results.set(r.caseId, r);
    }
  });
  stream.on("error", (_: ServiceError) => undefined); // the status says it
  const end = new Promise<StatusObject>((resolve) => stream.on("status", resolve));
  for (const request of requests) {
    if (!stream.write(create(CheckRequestSchema, request))) {
      await Promise.race([new Promise((resolve) => stream.once("drain", resolve)), end]);
    }
  }
  stream.end();
  return { results, messages, end: await end };
}

/** Gives the lines of a stream of text. */
export const lines = (input: NodeJS.ReadableStream) => createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
