/** Says that the input is not one that the checker can read: the case ends as INVALID_INPUT. */
export class InputError extends Error {
  override readonly name = "InputError";
}

/** Says that the case carries no stub for a call. The case ends as STUB_MISSING, whatever the checker makes of it. */
export class StubMissingError extends Error {
  override readonly name = "StubMissingError";

  constructor(
    /** The call. */
    readonly call: string,
  ) {
    super(`no stub for the call ${JSON.stringify(call)}`);
  }
}

/** How long a text of ours may be, in bytes of UTF-8. */
const maxTextBytes = 2 << 10;

/** Cuts a text to 2 KiB of UTF-8 between two characters, and makes it well formed. */
export function bounded(text: string): string {
  const sound = text.slice(0, maxTextBytes).toWellFormed();
  const bytes = Buffer.from(sound);
  if (bytes.length <= maxTextBytes) {
    return sound;
  }
  let end = maxTextBytes;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) {
    end--; // not in the midst of a character
  }
  return bytes.toString("utf8", 0, end);
}

/** Says what was thrown, which can be anything, and where. It never throws. */
export function explain(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) {
      return bounded(`thrown: ${String(thrown)}`);
    }
    const where = /\n\s+at (.*)/.exec(String(thrown.stack))?.[1];
    return bounded(`${thrown.name}: ${thrown.message}${where === undefined ? "" : ` (at ${where})`}`);
  } catch {
    return "something was thrown that cannot be shown";
  }
}
