import assert from "node:assert/strict";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { dist, execute, temporary } from "./support.js";

const root = dirname(dist);
const readme = readFileSync(join(root, "README.md"), "utf8");

/** Gives the code blocks with the language of each and the text before it. */
const blocks = [...readme.matchAll(/([^\n]*)\n\n```(\w*)\n([\s\S]*?)^```/gm)].map(
  ([, before = "", language = "", code = ""]) => ({ before, language, code }),
);

/** Makes a folder in which the packages are there that the README has installed: a test asks no registry. */
function folder(t: TestContext): string {
  const dir = temporary(t);
  mkdirSync(join(dir, "node_modules/@retrial"), { recursive: true });
  symlinkSync(root, join(dir, "node_modules/@retrial/sdk"));
  for (const name of ["typescript", "@types"]) {
    symlinkSync(join(root, "node_modules", name), join(dir, "node_modules", name));
  }
  writeFileSync(join(dir, "package.json"), '{"type":"module"}');
  return dir;
}

test("who follows it gets what it shows", async (t) => {
  const dir = folder(t);
  const files = blocks.filter((b) => /^`[^`]+`/.test(b.before));
  assert.deepEqual(
    files.map((b) => b.language),
    ["ts", "json", "yaml", "jsonl"],
  );
  for (const { before, code } of files) {
    const [, name = ""] = /^`([^`]+)`/.exec(before) ?? [];
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), code);
  }
  const env = { PATH: [dist, join(root, "node_modules/.bin"), process.env.PATH].join(delimiter) };
  const run = (command: string) => execute(t, "sh", ["-c", command.replace(/^npx /, "")], env, dir);
  const commands =
    blocks
      .find((b) => b.code.includes("npx tsc"))
      ?.code.trim()
      .split("\n")
      .map((line) => line.slice(2)) ?? [];
  assert.equal(commands.length, 3);
  const results = [];
  for (const command of commands) {
    results.push(await run(command));
  }
  assert.deepEqual(
    results.map((r) => r.code),
    [0, 0, 1],
    results.map((r) => r.stdout + r.stderr).join("\n"),
  );
  const shown = blocks.find((b) => b.code.startsWith("confirmed"))?.code ?? assert.fail();
  assert.ok(results[2]?.stdout.endsWith(shown), results[2]?.stdout);
  const other = /^`(retrial run [^`]*)` passes/m.exec(readme)?.[1] ?? assert.fail();
  assert.equal((await run(other)).code, 0);
});

test("its other programs are programs", async (t) => {
  const dir = folder(t);
  const programs = blocks.filter((b) => b.language === "ts" && !b.code.includes("await serve"));
  assert.equal(programs.length, 3);
  const [unit = "", ...others] = programs.map((b) => b.code);
  const checker = 'import { type Checker } from "@retrial/sdk";\ndeclare const checker: Checker;\n';
  writeFileSync(join(dir, "p.ts"), `${checker}${unit}export { outcome, error, stubsUsed };\n`);
  for (const [i, code] of others.entries()) {
    writeFileSync(join(dir, `p${i}.ts`), code);
  }
  const tsc = join(root, "node_modules/.bin/tsc");
  const { code, stdout } = await execute(
    t,
    tsc,
    ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--types", "node", "p.ts", "p0.ts", "p1.ts"],
    {},
    dir,
  );
  assert.equal(code, 0, stdout);
});

test("what is committed of this package names no machine and no registry", () => {
  const lock = readFileSync(join(root, "package-lock.json"), "utf8");
  assert.doesNotMatch(lock, /"resolved"|registry\./);
});
