import { CookieJar } from "tough-cookie";

export const reasonCodes = ["ok", "public_suffix"];

export interface Answer {
  verdict: "stored" | "refused";
  reasonCode: string;
}

/** Whether a jar stores a cookie that the answer to a request for this URL sets. The jar is a new one for each question. */
export function decide(setCookie: string, url: string): Answer {
  try {
    if (new CookieJar().setCookieSync(setCookie, url) === undefined) {
      throw new Error("the library neither stored the cookie nor said why not");
    }
    return { verdict: "stored", reasonCode: "ok" };
  } catch (error) {
    return { verdict: "refused", reasonCode: reasonOf(error) };
  }
}

/** The library says why in the words of an error alone. Words that are not known are no decision: the case ends in the error. */
function reasonOf(error: unknown): string {
  if (error instanceof Error && error.message.startsWith("Cookie has domain set to a public suffix")) {
    return "public_suffix";
  }
  throw error;
}
