import { InputError } from "@retrial/sdk";

/** An instant to the nanosecond. */
export interface Instant {
  /** Seconds since 1970-01-01T00:00:00Z. */
  readonly seconds: number;
  readonly nanoseconds: number;
}

const pattern = /^(\d{4})-(\d{2})-(\d{2})T(\d{1,2}):(\d{2}):(\d{2})(?:[.,](\d+))?(?:Z|([+-])(\d{2}):(\d{2}))$/;

/**
 * Reads an RFC 3339 time as Go's time.Parse does: it admits one digit of the hour, a comma before the fraction, and offsets up to
 * 24:60; of a fraction the first nine digits count.
 */
export function instant(member: string, text: string): Instant {
  const m = pattern.exec(text);
  const [year, month, day, hour, minute, second] = (m ?? []).slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const [fraction = "", sign, offsetHour = "0", offsetMinute = "0"] = (m ?? []).slice(7);
  // The last of a month is the day before the first of the next one.
  const last = m === null ? 0 : new Date(midnight(year, month + 1, 0)).getUTCDate();
  if (
    m === null ||
    month < 1 ||
    month > 12 ||
    day < 1 ||
    day > last ||
    hour > 23 ||
    minute > 59 ||
    second > 59 ||
    Number(offsetHour) > 24 ||
    Number(offsetMinute) > 60
  ) {
    throw new InputError(`${member}: it is not an instant such as 2026-02-14T09:12:00Z`);
  }
  const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * 60 * (sign === "-" ? -1 : 1);
  return {
    seconds: midnight(year, month, day) / 1000 + hour * 3600 + minute * 60 + second - offset,
    nanoseconds: Number(fraction.slice(0, 9).padEnd(9, "0")),
  };
}

/** The first milliseconds of a day. Date.UTC would take the years up to 99 for those after 1900. */
function midnight(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month - 1, day);
}

export function isAfter(a: Instant, b: Instant): boolean {
  return a.seconds > b.seconds || (a.seconds === b.seconds && a.nanoseconds > b.nanoseconds);
}
