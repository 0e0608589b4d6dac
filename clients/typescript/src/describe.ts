import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { create } from "@bufbuild/protobuf";
import type { Description } from "./checker.js";
import { type DescribeResponse, DescribeResponseSchema } from "./gen/retrial/checker/v1/checker_pb.js";
import { defaultJson, parameterType } from "./parameters.js";

/** The version of the plugin contract. */
export const contractVersion = 1;

/** Gives what a checker says about itself in the contract's form. A TypeError says why a description is not usable. */
export function describe(d: Description): DescribeResponse {
  if (typeof d.name !== "string" || d.name === "" || typeof d.version !== "string" || d.version === "") {
    throw new TypeError("name and version are mandatory");
  }
  return create(DescribeResponseSchema, {
    name: d.name,
    version: d.version,
    buildDigest: d.buildDigest ?? mainDigest(),
    contractVersion,
    verdicts: [...(d.verdicts ?? [])],
    reasonCodes: [...(d.reasonCodes ?? [])],
    callsStubs: d.callsStubs ?? false,
    configurationVersion: d.configurationVersion ?? "",
    parameters: Object.entries(d.parameters ?? {}).map(([name, p]) => ({
      name,
      type: parameterType(name, p),
      defaultJson: defaultJson(p),
      description: p.description ?? "",
    })),
  });
}

/** Digests the file of the main module; empty where the program is no file. The file may be another one by the next time. */
const mainDigest = once((): string => {
  const main = process.argv[1];
  if (main === undefined) {
    return "";
  }
  try {
    const file = createRequire(import.meta.url).resolve(main); // its name may lack the extension
    return `sha256:${createHash("sha256").update(readFileSync(file)).digest("hex")}`;
  } catch {
    return "";
  }
});

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
