import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { binary, checkerFile, execute, Program, promotion, repository, temporary } from "./support.js";

const node = (file: string, ...more: string[]) =>
  [JSON.stringify(process.execPath), JSON.stringify(file), ...more].join(" ");
const odd = checkerFile("odd");

/** Runs the Go binary in a directory of its own. Sockets of checkers are made below it. */
async function retrial(
  t: TestContext,
  args: string[],
): Promise<{ code: number | null; stdout: string; stderr: string; left: string[] }> {
  const dir = temporary(t);
  mkdirSync(join(dir, "tmp"));
  const out = await execute(t, binary, [...args, "--store", join(dir, "retrial.db")], { TMPDIR: join(dir, "tmp") });
  return { ...out, left: readdirSync(join(dir, "tmp")) };
}

/** Gives the processes whose command line has a text. */
function processes(text: string): string[] {
  const all = execFileSync("ps", ["-A", "-o", "pid=,args="], { encoding: "utf8" }).split("\n");
  return all.filter((line) => line.includes(text) && !line.includes("ps -A"));
}

/** Writes a set whose cases are what the odd checker answers by. */
function oddSet(t: TestContext, whats: string[]): string {
  const dir = temporary(t);
  mkdirSync(join(dir, "fixtures"));
  const command = JSON.stringify([process.execPath, odd]);
  writeFileSync(
    join(dir, "retrial.yaml"),
    `set: odd\nschema: 1\nverdicts: [a, b]\npermissive: a\npolicy: {kind: full}\nbaseline: {command: ${command}}\ncandidate: {command: ${command}}\n`,
  );
  const fixtures = whats.map((what, i) => ({
    fixture_id: `f-${i}`,
    source_row_id: `r-${i}`,
    verdict: "a",
    reason_code: "3 0.5 1 false w 5",
    decided_at: "2026-02-14T09:12:00Z",
    what,
  }));
  writeFileSync(join(dir, "fixtures/decisions.jsonl"), fixtures.map((f) => `${JSON.stringify(f)}\n`).join(""));
  return dir;
}

test("the host launches it and is told who it is", async (t) => {
  const { code, stdout, stderr, left } = await retrial(t, ["checkers", "describe", node(promotion)]);
  assert.equal(code, 0, stderr);
  assert.match(
    stdout,
    /^promotion 1\.0\.0\nbuild +sha256:[0-9a-f]{64}\ncontract +1\nconfiguration +promotion-queue\/2026-02\n/,
  );
  assert.match(stdout, /^max_age_days +integer +30 +The greatest age/m);
  assert.match(stdout, /^min_score +number +0\.6 /m);
  assert.deepEqual(left, []);
  assert.deepEqual(processes(promotion), []);
});

test("the worked example: 200 of 200 confirmed, 17 flips with 14 days, none with 30", async (t) => {
  const set = join(repository, "examples/promotion");
  const args = ["run", set, "--baseline", node(promotion), "--candidate", node(promotion)];
  const blocked = await retrial(t, args);
  assert.equal(blocked.code, 1, blocked.stderr);
  assert.match(blocked.stdout, /^confirmed +200 of 200 by the baseline$/m);
  assert.match(blocked.stdout, /^by class +restrictive 15, reason 2$/m);
  assert.match(blocked.stdout, /^release blocked: 17 fixtures flipped$/m);
  const passed = await retrial(t, [...args, "--candidate-param", "max_age_days=30"]);
  assert.equal(passed.code, 0, passed.stderr);
  assert.match(passed.stdout, /^release passed/m);
});

test("the Go checker and this one agree: each can be the other's baseline", async (t) => {
  const set = join(repository, "examples/promotion");
  const { code, stdout, stderr } = await retrial(t, [
    "run",
    set,
    "--candidate",
    node(promotion),
    "--candidate-param",
    "max_age_days=30",
  ]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^confirmed +200 of 200/m);
});

test("a checker that goes wrong is named, blocks, and leaves no process", async (t) => {
  const cases: [string, RegExp][] = [
    ["throw", /CHECKER_ERROR.*Error: out of cheese/s],
    ["throw later", /CHECKER_ERROR.*TypeError: later/s],
    ["swallow", /STUB_MISSING/],
    ["nothing", /CHECKER_ERROR.*gave no verdict/s],
    ["reject", /CHECKER_FAILED.*not caught by the checker: Error: floating/s],
    ["exit", /CHECKER_FAILED.*exit status 7/s],
  ];
  for (const [what, says] of cases) {
    const { code, stdout, stderr, left } = await retrial(t, ["run", oddSet(t, ["plain", what, "plain"])]);
    assert.equal(code, 3, `${what}: ${stdout}${stderr}`);
    assert.match(stdout, says, what);
    assert.deepEqual(left, [], what);
  }
  const hangs = await retrial(t, ["run", oddSet(t, ["plain", "hang"]), "--case-timeout", "1s"]);
  assert.equal(hangs.code, 3);
  assert.match(hangs.stdout, /CHECKER_TIMEOUT/);
  assert.deepEqual(processes(odd), []);
});

test("a host that is killed leaves no checker", { skip: process.platform !== "linux" }, async (t) => {
  const marker = `${process.pid}-of-a-killed-host`;
  const host = new Program(t, binary, [
    "run",
    oddSet(t, ["wait"]),
    "--baseline",
    node(odd, marker),
    "--candidate",
    node(odd, marker),
    "--store",
    join(temporary(t), "r.db"),
    "--verbose",
  ]);
  const found = () => processes(marker).filter((line) => !line.includes(binary));
  await eventually(() => found().length === 2);
  host.kill("SIGKILL");
  await host.ended;
  await eventually(() => found().length === 0);
});

/** Asks again, as often as the loop turns, until the answer is yes; gives up after ten seconds. */
async function eventually(done: () => boolean): Promise<void> {
  for (const end = performance.now() + 10_000; !done(); ) {
    assert.ok(performance.now() < end, "it did not come to pass in ten seconds");
    await new Promise(setImmediate);
  }
}
