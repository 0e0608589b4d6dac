// Prints the fixtures: what the tough-cookie of this folder decides about a cookie for each of some public suffixes.
//
//   node baseline/dist/generate.js baseline/node_modules/psl candidate/node_modules/psl > fixtures/suffixes.jsonl
//
// The arguments are two releases of the package psl, which has the Public Suffix List of its day.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { domainToASCII, pathToFileURL } from "node:url";
import { version } from "tough-cookie";
import { decide } from "./decide.js";

/** When the decisions were recorded: one instant, so that the same lists give the same bytes. */
const recordedAt = "2026-11-30T00:00:00Z";

interface List {
  source: string;
  path: string;
  rules: Set<string>;
}

async function read(directory: string): Promise<List> {
  const manifest = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
  const source = `psl-${manifest.version}`;
  const asJSON = join(directory, "data/rules.json");
  if (existsSync(asJSON)) {
    return { source, path: "data/rules.json", rules: new Set(JSON.parse(readFileSync(asJSON, "utf8"))) };
  }
  const module = await import(pathToFileURL(join(directory, "data/rules.js")).href);
  return { source, path: "data/rules.js", rules: new Set(module.default) };
}

/** Of the suffixes that one list alone has, every eighth; of those that both have, every fortieth. */
function select(older: List, newer: List): [string, List][] {
  const every = (n: number, list: List, wanted: (rule: string) => boolean) =>
    [...list.rules]
      .filter(wanted)
      .sort()
      .filter((_, i) => i % n === 0)
      .map((rule): [string, List] => [rule, list]);
  const rows = [
    ...every(40, older, (rule) => newer.rules.has(rule)),
    ...every(8, older, (rule) => !newer.rules.has(rule)),
    ...every(8, newer, (rule) => !older.rules.has(rule)),
  ];
  return rows.sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The suffix that a rule is about: `*.ck` is about every name below ck, and `!www.ck` says that this one is none. */
function suffixOf(rule: string): string {
  return rule.replace(/^\*/, "any").replace(/^!/, "");
}

function fixture(rule: string, list: List): object {
  const suffix = suffixOf(rule);
  const input = { set_cookie: `session=1; Domain=${suffix}; Secure`, url: `https://shop.${suffix}/` };
  const { verdict, reasonCode } = decide(input.set_cookie, input.url);
  return {
    fixture_id: `suffix-${domainToASCII(suffix)}`,
    source_row_id: `${list.source}/${list.path}: ${rule}`,
    verdict,
    reason_code: reasonCode,
    decided_at: recordedAt,
    input,
    provenance: {
      source: list.source,
      path: list.path,
      rule,
      license: "MPL-2.0",
      recorded_by: `tough-cookie ${version}`,
    },
  };
}

const [, , older, newer] = process.argv;
if (older === undefined || newer === undefined) {
  throw new Error("expected two directories: the older and the newer release of psl");
}
const rows = select(await read(older), await read(newer)).map(([rule, list]) => JSON.stringify(fixture(rule, list)));
process.stdout.write(`${rows.join("\n")}\n`);
