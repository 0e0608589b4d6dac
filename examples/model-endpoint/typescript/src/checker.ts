// Whether a ticket is answered automatically, or by a person: the checker of ../python, ported. It asks the same of the same models,
// so that the same recordings answer it. Nothing in it knows of them.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Case, defineChecker, type Outcome, serve } from "@retrial/sdk";
import OpenAI from "openai";

const spam = [0.6, 0.8, 0]; // what the embedding of the last wave of spam was
const instructions = [
  "You sort tickets. Answer with JSON: category, and urgent.",
  "You sort tickets. Answer with JSON: category, and urgent. A locked account is always urgent.",
];

const client = new OpenAI();

/** Of what was built and of the packages that it runs on. */
function buildDigest(): string {
  const digest = createHash("sha256");
  for (const file of ["checker.js", "../package-lock.json"]) {
    digest.update(readFileSync(new URL(file, import.meta.url)));
  }
  return `sha256:${digest.digest("hex")}`;
}

/** By an embedding. */
async function isSpam(text: string): Promise<boolean> {
  const found = await client.embeddings.create({ model: "words-1", input: text });
  const vector = found.data[0]?.embedding ?? [];
  return vector.reduce((sum, x, i) => sum + x * (spam[i] ?? 0), 0) > 0.95;
}

/** By a chat that answers with a document. */
async function triage(text: string, system: string): Promise<{ category: string; urgent: boolean }> {
  const answer = await client.chat.completions.create({
    model: "talk-1",
    temperature: 0,
    response_format: { type: "json_object" },
    messages: [
      { role: "system", content: system },
      { role: "user", content: text },
    ],
  });
  return JSON.parse(answer.choices[0]?.message.content ?? "");
}

/** By a chat that is streamed. */
async function team(text: string): Promise<string> {
  const content = `Which team answers this ticket?\n\n${text}`;
  const stream = await client.chat.completions.create({
    model: "talk-1",
    stream: true,
    messages: [{ role: "user", content }],
  });
  let said = "";
  for await (const chunk of stream) {
    said += chunk.choices[0]?.delta.content ?? "";
  }
  return said;
}

/** A model that does not answer ends the case: there is no default. */
async function decide(text: string, which: number): Promise<Outcome> {
  if (await isSpam(text)) {
    return { verdict: "automatic", reasonCode: "spam" };
  }
  const { category, urgent } = await triage(text, instructions[which - 1] ?? "");
  if (urgent) {
    return { verdict: "person", reasonCode: await team(text) };
  }
  return { verdict: "automatic", reasonCode: category };
}

const checker = defineChecker(
  {
    name: "tickets-in-node",
    version: "1.0.0",
    parameters: {
      instructions: { type: "integer", default: 1, description: "which of its instructions the model gets: 1 or 2" },
    },
    verdicts: ["automatic", "person"],
    reasonCodes: ["spam", "invoice", "address", "billing_team", "access_team"],
    buildDigest: buildDigest(),
  },
  (c: Case) => decide(c.text("text"), Number(c.parameters.instructions)),
);

await serve(checker);
