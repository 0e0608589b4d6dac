package dev.retrial.sdk;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;

/** Keeps what is told to people short and well formed. */
final class Texts {
  /** How long a text of ours may be, in bytes of UTF-8. */
  static final int MAX_BYTES = 2 << 10;

  private Texts() {}

  /** Cuts a text to 2 KiB of UTF-8 between two characters, and replaces lone surrogates. */
  static String bounded(String text) {
    ByteBuffer out = ByteBuffer.allocate(MAX_BYTES);
    // The encoder stops before the first character that has no room.
    StandardCharsets.UTF_8.newEncoder().onMalformedInput(CodingErrorAction.REPLACE).encode(CharBuffer.wrap(text), out, true);
    return new String(out.array(), 0, out.position(), StandardCharsets.UTF_8);
  }

  /** Shows the beginning of a text in a message. */
  static String excerpt(String text) {
    return text.length() <= 40 ? text : bounded(text.substring(0, 40)) + "…";
  }

  /** Says whether a text can be written as UTF-8. */
  static boolean isWellFormed(String text) {
    return StandardCharsets.UTF_8.newEncoder().canEncode(text);
  }

  /** Says what was thrown, and where. It never throws, whatever an author's exception does. */
  static String explain(Throwable thrown) {
    try {
      StackTraceElement[] stack = thrown.getStackTrace();
      return bounded(thrown + (stack.length == 0 ? "" : " (at " + stack[0] + ")"));
    } catch (Throwable t) {
      return "something was thrown that cannot be shown: " + thrown.getClass().getName();
    }
  }
}
