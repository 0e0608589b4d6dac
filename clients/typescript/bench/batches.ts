// Prints how many cases a second a trivial checker answers, in batches of 256 over a unix socket. The other end is a bare HTTP/2
// client that sends messages which it has made before, and reads no more of the answers than their lengths, so that it is the checker that is measured.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect as connectHttp } from "node:http2";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { CheckRequestSchema, CheckResponseSchema } from "../src/gen/retrial/checker/v1/checker_pb.js";

const batchSize = 256;
const inFlight = 8;
const kept = 64;
const rounds = Number(process.argv[2] ?? 5);
const batches = Number(process.argv[3] ?? 800);

const input = Buffer.from(
  JSON.stringify({ age_days_at_decision: 12, claim_text: "x".repeat(520), scope: { user_id: "u-1" } }),
);

function framed(request: MessageInitShape<typeof CheckRequestSchema>): Buffer {
  const message = toBinary(CheckRequestSchema, create(CheckRequestSchema, request));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** The size of a result: ids are of one length, and so is the answer. */
const resultBytes = toBinary(
  CheckResponseSchema,
  create(CheckResponseSchema, {
    results: [{ caseId: 2n ** 60n, answer: { case: "outcome", value: { verdict: "dropped", reasonCode: "stale" } } }],
  }),
).length;

/** Gives how many cases a second were answered over one stream. */
function round(path: string, messages: Buffer[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const session = connectHttp("http://checker", { createConnection: () => connect(path) });
    session.once("error", reject);
    const stream = session.request({
      ":method": "POST",
      ":path": "/retrial.checker.v1.CheckerService/Check",
      "content-type": "application/grpc",
      te: "trailers",
    });
    const started = performance.now();
    let sent = 0;
    let answered = 0;
    let frame: Buffer = Buffer.alloc(0);
    const send = () => {
      while (sent < batches && sent - answered / batchSize < inFlight) {
        stream.write(messages[sent++ % kept]);
      }
      if (answered === batches * batchSize) {
        stream.end();
      }
    };
    stream.on("data", (chunk: Buffer) => {
      frame = frame.length === 0 ? chunk : Buffer.concat([frame, chunk]);
      while (frame.length >= 5 && frame.length >= 5 + frame.readUInt32BE(1)) {
        const size = frame.readUInt32BE(1);
        answered += size / resultBytes;
        frame = frame.subarray(5 + size);
      }
      send();
    });
    stream.once("end", () => {
      session.close();
      if (answered === batches * batchSize) {
        resolve((answered * 1000) / (performance.now() - started));
      } else {
        reject(new Error(`${answered} answers to ${batches * batchSize} cases`));
      }
    });
    stream.write(framed({ open: {} }));
    send();
  });
}

const dir = mkdtempSync(join(tmpdir(), "bench-"));
const path = join(dir, "s");
const checker = spawn(process.execPath, [fileURLToPath(new URL("trivial.js", import.meta.url))], {
  env: { ...process.env, RETRIAL_LISTEN: `unix:${path}` },
  stdio: ["ignore", "inherit", "pipe"],
});
try {
  await new Promise((resolve) => createInterface({ input: checker.stderr }).once("line", resolve));
  const messages = Array.from({ length: kept }, (_, b) =>
    framed({
      cases: Array.from({ length: batchSize }, (_, i) => ({ caseId: 2n ** 60n + BigInt(b * batchSize + i), input })),
    }),
  );
  const all: number[] = [];
  for (let n = 0; n < rounds; n++) {
    all.push(await round(path, messages));
  }
  const median = all.sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;
  console.log(
    `${Math.round(median / 1000)} thousand cases/s in batches of ${batchSize}, inputs of ${input.length} bytes (median of ${rounds} rounds of ${batches} batches)`,
  );
} finally {
  checker.kill();
  rmSync(dir, { recursive: true, force: true });
}
