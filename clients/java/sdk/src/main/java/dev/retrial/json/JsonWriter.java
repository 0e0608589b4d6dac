package dev.retrial.json;

import java.util.Map;

/** Writes JSON without white space. */
final class JsonWriter {
  private JsonWriter() {}

  static String write(Json value) {
    StringBuilder out = new StringBuilder();
    append(out, value);
    return out.toString();
  }

  static String quoted(String text) {
    StringBuilder out = new StringBuilder(text.length() + 2);
    quote(out, text);
    return out.toString();
  }

  private static void append(StringBuilder out, Json value) {
    if (value instanceof Json.Obj object) {
      char before = '{';
      for (Map.Entry<String, Json> m : object.members().entrySet()) {
        quote(out.append(before), m.getKey());
        append(out.append(':'), m.getValue());
        before = ',';
      }
      out.append(before == '{' ? "{}" : "}");
    } else if (value instanceof Json.Arr array) {
      char before = '[';
      for (Json item : array.items()) {
        append(out.append(before), item);
        before = ',';
      }
      out.append(before == '[' ? "[]" : "]");
    } else if (value instanceof Json.Str text) {
      quote(out, text.value());
    } else {
      out.append(value);
    }
  }

  private static void quote(StringBuilder out, String text) {
    out.append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      switch (c) {
        case '"', '\\' -> out.append('\\').append(c);
        case '\n' -> out.append("\\n");
        case '\r' -> out.append("\\r");
        case '\t' -> out.append("\\t");
        case '\b' -> out.append("\\b");
        case '\f' -> out.append("\\f");
        default -> {
          if (c < ' ') {
            out.append(String.format("\\u%04x", (int) c));
          } else {
            out.append(c);
          }
        }
      }
    }
    out.append('"');
  }
}
