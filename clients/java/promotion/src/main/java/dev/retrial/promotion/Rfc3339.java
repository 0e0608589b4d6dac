package dev.retrial.promotion;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * RFC 3339 times as Go's time.Parse reads them: it admits one digit of the hour, a comma before the fraction, and offsets up to 24:60; of
 * a fraction the first nine digits count.
 */
final class Rfc3339 {
  private static final Pattern FORM =
      Pattern.compile(
          "([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))");

  private Rfc3339() {}

  /** A DateTimeException for what is no instant. */
  static Instant instant(String text) {
    Matcher m = FORM.matcher(text);
    if (!m.matches()) {
      throw new DateTimeException("it is not in the form");
    }
    int nanoseconds = m.group(7) == null ? 0 : Integer.parseInt((m.group(7) + "00000000").substring(0, 9));
    LocalDateTime local =
        LocalDateTime.of(field(m, 1), field(m, 2), field(m, 3), field(m, 4), field(m, 5), field(m, 6), nanoseconds);
    int offset = 0;
    if (m.group(8) != null) {
      if (field(m, 9) > 24 || field(m, 10) > 60) {
        throw new DateTimeException("its offset is none");
      }
      offset = (field(m, 9) * 60 + field(m, 10)) * 60 * (m.group(8).equals("-") ? -1 : 1);
    }
    return local.toInstant(ZoneOffset.UTC).minusSeconds(offset);
  }

  private static int field(Matcher m, int group) {
    return Integer.parseInt(m.group(group));
  }
}
