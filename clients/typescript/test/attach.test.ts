import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Client, NoDecisionError, passed, Ruling, Status, StatusError, TamperedError } from "@retrial/sdk";
import { push, startServer } from "./server.js";
import { binary, execute, Program, promotion, temporary } from "./support.js";

const attached = /^promotion is attached to unix:\S+ as next, instance (i-\S+)$/m;

test("a checker attaches, is asked by runs, and the gate's answers hold against the log", async (t) => {
  const { address, program, dir } = await startServer(t);
  await push(t, address);
  const tmp = temporary(t);
  const checker = new Program(t, process.execPath, [promotion], {
    RETRIAL_ATTACH: address,
    RETRIAL_ATTACH_NAME: "next",
    TMPDIR: tmp,
  });
  await checker.until("stderr", attached);
  assert.deepEqual(readdirSync(tmp), [], "its own socket is gone once it is connected");

  const pinFile = join(dir, "pin.json");
  const client = new Client(address, { pinFile });
  t.after(() => client.close());
  const run = { set: "memory-promotion", baseline: "stable", release: "v1" };
  const replay = client.replay({
    ...run,
    candidate: { checker: { case: "name", value: "next" }, parameters: { max_age_days: "14" } },
  });
  const counts: Record<string, number> = {};
  for await (const { case: kind } of replay) {
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  const d = await replay.decision();
  assert.deepEqual([d.ruling, d.flipped, d.confirmed, counts.finding, passed(d)], [Ruling.BLOCK, 17n, 200n, 17, false]);
  assert.equal((await client.gateStatus("v1")).status, Status.BLOCK);

  const again = client.replay({ ...run, candidate: "next" });
  assert.ok(passed(await again.decision()));
  const answers = await Promise.all([
    client.gateStatus("v1"),
    client.waitForGate("v1", AbortSignal.timeout(30_000)),
    client.gateStatus("v1", { sets: ["memory-promotion"] }),
  ]);
  assert.deepEqual(
    answers.map((a) => a.status),
    [Status.PASS, Status.PASS, Status.PASS],
  );
  assert.equal((await client.gateStatus("never tried")).status, Status.UNKNOWN);
  assert.equal((await client.waitForGate("never tried", AbortSignal.timeout(50))).status, Status.UNKNOWN);
  const waiting = client.waitForGate("v2", AbortSignal.timeout(30_000));
  await client.replay({ ...run, release: "v2", candidate: "next" }).decision();
  assert.equal((await waiting).status, Status.PASS);
  await assert.rejects(client.gateStatus(""), (e) => e instanceof StatusError && /INVALID_ARGUMENT/.test(e.message));

  // What it has seen of the log outlives it, and a log that is another one is noticed.
  const pin = JSON.parse(readFileSync(pinFile, "utf8")) as { size: number };
  assert.ok(pin.size >= 4);
  const second = new Client(address, { pinFile });
  t.after(() => second.close());
  assert.equal((await second.gateStatus("v1")).status, Status.PASS);
  writeFileSync(pinFile, JSON.stringify({ ...pin, root: Buffer.alloc(32, 1).toString("base64") }));
  const third = new Client(address, { pinFile });
  t.after(() => third.close());
  await assert.rejects(third.gateStatus("v1"), TamperedError);

  checker.kill("SIGTERM");
  assert.equal((await checker.ended).code, 0, checker.stderr);
  await assert.rejects(
    client.replay({ ...run, candidate: "next" }).decision(),
    (e) => e instanceof NoDecisionError && /NOT_FOUND/.test(e.message),
  );
  program.kill("SIGTERM");
  assert.equal((await program.ended).code, 0);
});

test("a checker that is cut off attaches again, and ends where that is of no use", async (t) => {
  const { address, program, dir } = await startServer(t);
  const environment = { RETRIAL_ATTACH: address, RETRIAL_ATTACH_NAME: "next" };
  const checker = new Program(t, process.execPath, [promotion], environment);
  const [, first] = await checker.until("stderr", attached);
  program.kill("SIGKILL");
  await program.ended;
  await checker.until("stderr", /^retrial: UNAVAILABLE: attach "next": .*; trying again$/m);
  await startServer(t, "", dir);
  const [, second] = await checker.until("stderr", /trying again\n(?:.*\n)*.*instance (i-\S+)\n/);
  assert.notEqual(first, second);
  checker.kill("SIGINT");
  assert.equal((await checker.ended).code, 0);

  const refused = await execute(t, process.execPath, [promotion], { ...environment, RETRIAL_ATTACH_NAME: "stable" });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^retrial: (ALREADY_EXISTS|PERMISSION_DENIED): attach "stable": /m);
  const inTheClear = await execute(t, process.execPath, [promotion], {
    RETRIAL_ATTACH: "10.0.0.7:7433",
    RETRIAL_ATTACH_NAME: "next",
    RETRIAL_TOKEN: "x",
  });
  assert.equal(inTheClear.code, 1);
  assert.match(inTheClear.stderr, /not sent in the clear/);
});

test("over TLS and with a token; without, it is not admitted", async (t) => {
  const dir = temporary(t);
  const openssl = [
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-keyout",
    "key.pem",
    "-out",
    "cert.pem",
    "-subj",
    "/CN=localhost",
    "-addext",
    "subjectAltName=DNS:localhost",
  ];
  assert.equal((await execute(t, "openssl", openssl, {}, dir)).code, 0);
  const token = async (name: string, role: string) => {
    const made = await execute(t, binary, [
      "token",
      "create",
      "--file",
      join(dir, "tokens.yaml"),
      "--name",
      name,
      "--role",
      role,
      "--expires-in",
      "1h",
    ]);
    assert.equal(made.code, 0, made.stderr);
    return made.stdout.trim();
  };
  const [runner, author] = [await token("runner", "submitter,registrar"), await token("ada", "author")];
  const { address } = await startServer(
    t,
    `tls: {cert: ${dir}/cert.pem, key: ${dir}/key.pem}\nauth: {tokens: ${dir}/tokens.yaml}\n`,
    dir,
  );
  const ca = join(dir, "cert.pem");
  await push(t, address, ["--ca", ca], { RETRIAL_TOKEN: author });
  const environment = { RETRIAL_ATTACH: address, RETRIAL_ATTACH_NAME: "next", RETRIAL_CA: ca };
  const checker = new Program(t, process.execPath, [promotion], { ...environment, RETRIAL_TOKEN: runner });
  await checker.until("stderr", attached);
  const client = new Client(address, { ca, token: runner });
  t.after(() => client.close());
  assert.ok(
    passed(
      await client.replay({ set: "memory-promotion", baseline: "stable", candidate: "next", release: "v1" }).decision(),
    ),
  );
  assert.equal((await client.gateStatus("v1")).status, Status.PASS);

  for (const [env, says] of [
    [environment, /UNAUTHENTICATED/],
    [{ ...environment, RETRIAL_TOKEN: author }, /PERMISSION_DENIED/],
    [{ ...environment, RETRIAL_CA: join(dir, "key.pem") }, /there is no certificate in it/],
  ] as const) {
    const refused = await execute(t, process.execPath, [promotion], env);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, says);
  }
  const stranger = new Client(address, { tls: true, token: runner }); // it trusts other authorities
  t.after(() => stranger.close());
  await assert.rejects(stranger.gateStatus("v1"), /UNAVAILABLE/);
});
