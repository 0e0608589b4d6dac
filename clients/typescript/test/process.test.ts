import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { CheckerService } from "../src/gen/retrial/checker/v1/checker_pb.js";
import { Connection } from "../src/rpc.js";
import {
  ask,
  binary,
  checkerFile,
  execute,
  launch,
  launchedEnvironment,
  Program,
  promotion,
  temporary,
} from "./support.js";

const odd = checkerFile("odd");
const one = (what: string) => [{ open: {} }, { cases: [{ caseId: 1n, input: Buffer.from(`{"what":"${what}"}`) }] }];

test("stdout carries the handshake and nothing else, whatever is logged before and after it", async (t) => {
  const { program, connection } = await launch(t, odd);
  const { results } = await ask(connection, one("log"));
  assert.equal(results.size, 1);
  program.kill("SIGTERM");
  assert.deepEqual(await program.ended, { code: 0, signal: null });
  assert.match(program.stdout, /^1\|1\|unix\|[^\n]*\|grpc\|\n$/);
  assert.equal(program.stderr, "before the handshake\nlogged\nwritten\n");
});

test("a launched checker ignores an interrupt, ends in order when it is told to, and leaves no socket", async (t) => {
  const dir = temporary(t);
  const program = new Program(t, process.execPath, [odd], launchedEnvironment(dir));
  const [, path] = await program.until("stdout", /unix\|(.*)\|grpc/);
  assert.match(String(path), new RegExp(`^${dir}/plugin[0-9a-f]{10}$`));
  program.kill("SIGINT");
  const connection = new Connection(`unix:${path}`, {});
  t.after(() => connection.close());
  const stream = connection.bidiStream(CheckerService.method.check);
  const first = new Promise((resolve) => stream.once("data", resolve));
  const end = new Promise<{ code: status }>((resolve) => stream.once("status", resolve));
  const [open, cases] = one("plain");
  const { CheckRequestSchema } = await import("../src/gen/retrial/checker/v1/checker_pb.js");
  stream.write(create(CheckRequestSchema, open));
  stream.write(create(CheckRequestSchema, cases));
  await first;
  program.kill("SIGTERM"); // with a stream under way, which may come to its end
  stream.end();
  assert.equal((await end).code, status.OK);
  assert.deepEqual(await program.ended, { code: 0, signal: null });
  assert.deepEqual(readdirSync(dir), []);
});

test("what nobody catches ends the process loudly, and never as if nothing were", async (t) => {
  for (const [what, says] of [
    ["reject", /not caught by the checker: Error: floating/],
    ["float", /not caught by the checker: .*after the case has ended/],
  ] as const) {
    const { program, connection } = await launch(t, odd);
    await ask(connection, one(what));
    assert.equal((await program.ended).code, 1, what);
    assert.match(program.stderr, says);
  }
});

test("started by hand it says how it is meant to run, and ends with 2", async (t) => {
  const cases: [Record<string, string>, RegExp][] = [
    [{}, /^odd 1 is a checker for Retrial\. Name this program/m],
    [{ RETRIAL_CHECKER: "wrong" }, /is a checker for Retrial/],
    [{ RETRIAL_LISTEN: "127.0.0.1:0", RETRIAL_ATTACH: "x", RETRIAL_ATTACH_NAME: "y" }, /exclude each other/],
    [{ RETRIAL_ATTACH: "x" }, /go together/],
    [{ RETRIAL_ATTACH_NAME: "x" }, /go together/],
  ];
  for (const [env, says] of cases) {
    const { code, stderr } = await execute(t, process.execPath, [odd], env);
    assert.equal(code, 2, stderr);
    assert.match(stderr, says);
  }
  for (const description of [
    "{}",
    '{ name: "x", version: "" }',
    '{ name: "x", version: "1", parameters: { p: {} } }',
    '{ name: "x", version: "1", parameters: { p: { default: 2 ** 60 } } }',
  ]) {
    const dir = temporary(t);
    writeFileSync(
      join(dir, "c.mjs"),
      `import { defineChecker, serve } from ${JSON.stringify(join(odd, "../../../src/index.js"))};\nawait serve(defineChecker(${description}, () => ({ verdict: "a" })));\n`,
    );
    const { code, stderr } = await execute(t, process.execPath, [join(dir, "c.mjs")], launchedEnvironment(dir));
    assert.equal(code, 2, description);
    assert.match(stderr, /this checker's description is not usable/);
  }
});

test("it listens where it is told to: at a socket, which it may replace, and at a port", async (t) => {
  const dir = temporary(t);
  const path = join(dir, "s");
  const env = { RETRIAL_LISTEN: `unix:${path}` };
  const killed = new Program(t, process.execPath, [odd], env);
  await killed.until("stderr", /^odd listens at unix:.*s$/m);
  killed.kill("SIGKILL"); // and leaves its socket
  await killed.ended;
  const again = new Program(t, process.execPath, [odd], env);
  await again.until("stderr", /odd listens at/);
  const second = await execute(t, process.execPath, [odd], env);
  assert.equal(second.code, 1);
  assert.match(second.stderr, /another process does/);
  const connection = new Connection(`unix:${path}`, {});
  t.after(() => connection.close());
  assert.equal((await ask(connection, one("plain"))).results.size, 1);
  assert.equal((await execute(t, binary, ["health", "--server", `unix:${path}`])).code, 0);
  again.kill("SIGINT");
  assert.equal((await again.ended).code, 0);

  writeFileSync(path, "precious");
  const file = await execute(t, process.execPath, [odd], env);
  assert.equal(file.code, 1);
  assert.match(file.stderr, /no socket/);
  assert.equal(readFileSync(path, "utf8"), "precious");

  const port = new Program(t, process.execPath, [odd], { RETRIAL_LISTEN: "127.0.0.1:0" });
  const [, address] = await port.until("stderr", /odd listens at (127\.0\.0\.1:[1-9]\d*)$/m);
  const tcp = new Connection(String(address), {});
  t.after(() => tcp.close());
  assert.equal((await ask(tcp, one("plain"))).results.size, 1);
  port.kill("SIGTERM");
  assert.equal((await port.ended).code, 0);
});

test("an address that is taken is an error, and ends with 1", async (t) => {
  const taken = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => taken.once("listening", resolve));
  t.after(() => taken.close());
  const { port } = taken.address() as { port: number };
  const { code, stderr } = await execute(t, process.execPath, [odd], { RETRIAL_LISTEN: `127.0.0.1:${port}` });
  assert.equal(code, 1);
  assert.match(stderr, /^retrial: listen at 127\.0\.0\.1/m);
});

test("the build digest is that of the main module's file, by whatever name it is started", async (t) => {
  const dir = temporary(t);
  const link = join(dir, "linked.js");
  symlinkSync(promotion, link);
  const expected = `sha256:${createHash("sha256").update(readFileSync(promotion)).digest("hex")}`;
  for (const file of [promotion, promotion.slice(0, -".js".length), link]) {
    const { connection } = await launch(t, file);
    const d = await connection.unary(CheckerService.method.describe, {});
    assert.equal(d.buildDigest, expected, file);
  }
});
