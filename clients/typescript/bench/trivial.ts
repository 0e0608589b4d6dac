// Answers the same to everything, so that what is measured is the SDK. With PARSE set it reads the input as well.
import { defineChecker, serve } from "@retrial/sdk";

const outcome = { verdict: "dropped", reasonCode: "stale" };
const parses = process.env.PARSE !== undefined;

await serve(
  defineChecker({ name: "trivial", version: "1" }, (c) =>
    parses && c.integer("age_days_at_decision") > 30 ? { verdict: "x" } : outcome,
  ),
);
