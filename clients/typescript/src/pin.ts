import { createHash, randomBytes } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { noPin, type Pin } from "./check.js";
import { base64 } from "./note.js";

/** Gives the file in which the command line `retrial` keeps what it has seen of a server's log: for those who want to share it. */
export function pinFileOf(target: string): string {
  const name = createHash("sha256").update(target).digest("hex").slice(0, 16);
  return join(configurationDirectory(), "retrial", "pins", `${name}.json`);
}

function configurationDirectory(): string {
  switch (process.platform) {
    case "win32":
      return process.env.AppData ?? join(homedir(), "AppData", "Roaming");
    case "darwin":
      return join(homedir(), "Library", "Application Support");
    default:
      return process.env.XDG_CONFIG_HOME || join(homedir(), ".config");
  }
}

/** Reads a pin; one that is not there remembers nothing. It rejects for what is no pin: that is not to be taken for none. */
export async function readPin(file: string): Promise<Pin> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code === "ENOENT") {
      return noPin;
    }
    throw e;
  }
  try {
    const { key, size, root } = JSON.parse(text) as Partial<Pin>;
    if (
      typeof key === "string" &&
      key !== "" &&
      Number.isSafeInteger(size) &&
      (size as number) >= 0 &&
      typeof root === "string" &&
      base64(root)?.length === 32
    ) {
      return { key, size: size as number, root };
    }
  } catch {}
  throw new TypeError(`${file}: it does not say what was seen of the server's log`);
}

/** Writes a pin in place of the one that is there, as a whole; but not in place of one that has seen more of the log. */
export async function writePin(file: string, pin: Pin): Promise<void> {
  if (pin.size < (await readPin(file)).size) {
    return;
  }
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const fresh = join(dirname(file), `.new-${randomBytes(6).toString("hex")}`);
  try {
    await writeFile(fresh, `${JSON.stringify(pin)}\n`, { mode: 0o600 });
    await rename(fresh, file);
  } catch (e) {
    await rm(fresh, { force: true });
    throw e;
  }
}
