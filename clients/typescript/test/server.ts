import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { binary, execute, Program, promotion, repository, temporary } from "./support.js";

/** A `retrial serve` with the set of examples/promotion and a checker "stable". It ends with the test. */
export interface Serving {
  readonly address: string;
  readonly program: Program;
  readonly dir: string;
}

/** Starts a server; `more` are lines of its configuration. */
export async function startServer(t: TestContext, more = "", dir = temporary(t)): Promise<Serving> {
  const address = `unix:${join(dir, "s")}`;
  const config = join(dir, "server.yaml");
  const stable = JSON.stringify([process.execPath, promotion]);
  writeFileSync(
    config,
    `listen: ${address}\nstore: ${join(dir, "r.db")}\nattach_allow: [next]\ncheckers:\n  stable: {command: ${stable}}\n${more}`,
  );
  const program = new Program(t, binary, ["serve", "--config", config]);
  await program.until("stderr", /"msg":"serving"/);
  return { address, program, dir };
}

/** Publishes the set of examples/promotion. */
export async function push(t: TestContext, address: string, access: string[] = [], env = {}): Promise<void> {
  const { code, stderr } = await execute(
    t,
    binary,
    [
      "fixtures",
      "push",
      join(repository, "examples/promotion"),
      "--server",
      address,
      "--reason",
      "first import",
      ...access,
    ],
    env,
  );
  if (code !== 0) {
    throw new Error(stderr);
  }
}
