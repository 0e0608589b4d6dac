import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { dist, execute, temporary } from "./support.js";

const root = dirname(dist);
const readme = readFileSync(join(root, "README.md"), "utf8");

/** Gives the code blocks with the language of each and the text before it. */
const blocks = [...readme.matchAll(/([^\n]*)\n\n```(\w*)\n([\s\S]*?)^```/gm)].map(
  ([, before = "", language = "", code = ""]) => ({ before, language, code }),
);

/** Runs the lines of a shell in a folder, and gives their exit statuses and what the last of them printed. */
async function shell(t: TestContext, dir: string, lines: string[]): Promise<{ codes: unknown[]; stdout: string }> {
  const env = { PATH: [dist, process.env.PATH].join(delimiter) };
  const results = [];
  for (const line of lines) {
    results.push(await execute(t, "sh", ["-c", line], env, dir));
  }
  t.diagnostic(results.map((r, i) => `$ ${lines[i]}\n${r.stdout}${r.stderr}`).join("\n"));
  return { codes: results.map((r) => r.code), stdout: results.at(-1)?.stdout ?? "" };
}

/** Copies this package without what it has installed and built: `npm ci` takes away what these tests run with. */
function copy(t: TestContext): string {
  const dir = temporary(t);
  const left = ["node_modules", "dist"].map((name) => join(root, name));
  cpSync(root, dir, { recursive: true, filter: (source) => !left.includes(source) && !source.endsWith(".tgz") });
  return dir;
}

test("who follows it from an empty folder gets what it shows, and the top level", async (t) => {
  const from = copy(t);
  const dir = temporary(t);
  const files: string[] = [];
  const codes: unknown[] = [];
  let shown = "";
  let compared = 0;
  for (const { before, language, code } of blocks) {
    const [, name] = /^`([\w./]+\.\w+)`/.exec(before) ?? [];
    if (name !== undefined) {
      mkdirSync(dirname(join(dir, name)), { recursive: true });
      writeFileSync(join(dir, name), code);
      files.push(name);
    } else if (code.startsWith("$ ")) {
      // The first block is for "this directory", and the path of what it makes stands in the next.
      const lines = code.trimEnd().split("\n");
      const commands = lines.map((line) => line.slice(2).replace("…", from));
      const done = await shell(t, codes.length === 0 ? from : dir, commands);
      codes.push(...done.codes);
      shown = done.stdout;
    } else if (language === "") {
      assert.ok(shown.endsWith(code), shown);
      compared++;
    }
  }
  assert.deepEqual(files, ["checker.ts", "tsconfig.json", "trial/retrial.yaml", "trial/fixtures/decisions.jsonl"]);
  assert.deepEqual([codes, compared], [[0, 0, 0, 0, 0, 0, 1], 1]);
  const passes = /`(retrial run [^`]*)` passes, with status 0/.exec(readme)?.[1] ?? assert.fail();
  const [, conformance = "", level = ""] =
    /`(retrial conformance [^`]+)`\n[^`]*`(level[^`]+)`/.exec(readme) ?? assert.fail();
  const { codes: last, stdout } = await shell(t, dir, [passes, conformance]);
  assert.deepEqual([last, stdout.trimEnd().endsWith(level)], [[0, 0], true], stdout);
});

test("its other programs are programs", async (t) => {
  const dir = temporary(t);
  mkdirSync(join(dir, "node_modules/@retrial"), { recursive: true });
  symlinkSync(root, join(dir, "node_modules/@retrial/sdk"));
  symlinkSync(join(root, "node_modules/@types"), join(dir, "node_modules/@types"));
  writeFileSync(join(dir, "package.json"), '{"type":"module"}');
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
