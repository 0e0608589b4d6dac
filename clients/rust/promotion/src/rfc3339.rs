//! RFC 3339 times as Go's time.Parse reads them: it admits one digit of the hour, a comma before the fraction, and offsets up to
//! 24:60; of a fraction the first nine digits count.

/// Seconds since 1970, and nanoseconds.
pub(crate) type Instant = (i64, u32);

/// `None` for what is no instant.
pub(crate) fn instant(text: &str) -> Option<Instant> {
    let mut rest = Text(text.as_bytes());
    let (year, month, day) = (rest.number(4)?, rest.after(b"-", 2)?, rest.after(b"-", 2)?);
    rest.one_of(b"T")?;
    let hour = rest.number(2).or_else(|| rest.number(1))?;
    let (minute, second) = (rest.after(b":", 2)?, rest.after(b":", 2)?);
    let nanoseconds = if rest.one_of(b".,").is_some() { rest.fraction()? } else { 0 };
    let offset = match rest.one_of(b"Z+-")? {
        b'Z' => 0,
        sign => {
            let (hours, minutes) = (rest.number(2)?, rest.after(b":", 2)?);
            if hours > 24 || minutes > 60 {
                return None;
            }
            (hours * 60 + minutes) * 60 * if sign == b'-' { -1 } else { 1 }
        }
    };
    let valid = rest.0.is_empty()
        && (1..=12).contains(&month)
        && (1..=days_of(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let seconds = (days_since_1970(year, month, day) * 24 + hour) * 3600 + minute * 60 + second - offset;
    valid.then_some((seconds, nanoseconds))
}

/// What is left of a text. Each method takes what it gives, or nothing.
struct Text<'a>(&'a [u8]);

impl Text<'_> {
    fn number(&mut self, digits: usize) -> Option<i64> {
        let (head, rest) = self.0.split_at_checked(digits)?;
        if !head.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.0 = rest;
        Some(head.iter().fold(0, |n, d| n * 10 + i64::from(d - b'0')))
    }

    fn one_of(&mut self, bytes: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        if !bytes.contains(first) {
            return None;
        }
        self.0 = rest;
        Some(*first)
    }

    fn after(&mut self, separator: &[u8], digits: usize) -> Option<i64> {
        self.one_of(separator)?;
        self.number(digits)
    }

    fn fraction(&mut self) -> Option<u32> {
        let n = self.0.iter().take_while(|d| d.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at(n);
        self.0 = rest;
        let nine = digits.iter().chain([&b'0'; 8]).take(9);
        (n > 0).then(|| nine.fold(0, |n, d| n * 10 + u32::from(d - b'0')))
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Counts days in the Gregorian calendar, from year 0 on.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let leap_days = |before: i64| (before + 3) / 4 - (before + 99) / 100 + (before + 399) / 400;
    let years = year * 365 + leap_days(year) - (1970 * 365 + leap_days(1970));
    years + (1..month).map(|m| days_of(year, m)).sum::<i64>() + day - 1
}

#[cfg(test)]
mod tests {
    use super::instant;

    #[test]
    fn instants_are_counted() {
        for (text, want) in [
            ("1970-01-01T00:00:00Z", (0, 0)),
            ("2026-02-14T09:12:00Z", (1_771_060_320, 0)),
            ("2000-03-01T00:00:00Z", (951_868_800, 0)),
            ("2024-02-29T23:59:59.123456789999Z", (1_709_251_199, 123_456_789)),
            ("1969-12-31T9:00:00,5-15:00", (0, 500_000_000)),
            ("0000-01-01T00:00:00+24:60", (-62_167_219_200 - 90_000, 0)),
            ("9999-12-31T23:59:59Z", (253_402_300_799, 0)),
        ] {
            assert_eq!(instant(text), Some(want), "{text}");
        }
    }

    #[test]
    fn what_is_no_instant_is_none() {
        for text in [
            "",
            "2026-02-14",
            "2026-02-30T00:00:00Z",
            "2025-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:60Z",
            "2026-01-01t00:00:00Z",
            "2026-01-01T00:00:00z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+25:00",
            "2026-01-01T00:00:00+00:61",
            "2026-01-01T00:00:00Z ",
            "٢026-01-01T00:00:00Z",
        ] {
            assert_eq!(instant(text), None, "{text}");
        }
    }
}
