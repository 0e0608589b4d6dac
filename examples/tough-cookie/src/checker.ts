// The checker tough-cookie: whether a cookie is stored, by the tough-cookie of the folder that this is built in.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { defineChecker, serve } from "@retrial/sdk";
import { version } from "tough-cookie";
import { decide, reasonCodes } from "./decide.js";

// The same source is built in both folders. What tells the builds apart is the lock file, with the digest of every package:
// the list of public suffixes is in a package that tough-cookie depends on.
function buildDigest(): string {
  const digest = createHash("sha256");
  for (const file of ["checker.js", "decide.js", "../package-lock.json"]) {
    digest.update(readFileSync(new URL(file, import.meta.url)));
  }
  return `sha256:${digest.digest("hex")}`;
}

const checker = defineChecker(
  {
    name: "tough-cookie",
    version,
    verdicts: ["stored", "refused"],
    reasonCodes,
    buildDigest: buildDigest(),
  },
  (c) => decide(c.text("set_cookie"), c.text("url")),
);

await serve(checker);
