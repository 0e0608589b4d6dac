package dev.retrial.json;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A strict parser. It is our own since a library reads a number into a BigDecimal at best, which 1e2 and -0 do not survive, and would be
 * one more version to agree on with the checker's own dependencies.
 */
final class JsonParser {
  /** How deep arrays and objects may nest: what a host admits as well. */
  private static final int MAX_DEPTH = 128;

  private final String text;
  private int at;
  private int depth;

  JsonParser(String text) {
    this.text = text;
  }

  Json document() {
    Json value = value();
    space();
    if (at < text.length()) {
      throw failure("trailing data");
    }
    return value;
  }

  private JsonException failure(String what) {
    return new JsonException("no JSON: " + what + " at character " + at);
  }

  /** Gives the character here, or 0 at the end: no token begins with it. */
  private char peek() {
    return at < text.length() ? text.charAt(at) : 0;
  }

  private void space() {
    while (at < text.length() && " \n\r\t".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
  }

  private Json value() {
    space();
    return switch (peek()) {
      case '{' -> object();
      case '[' -> array();
      case '"' -> text(string());
      case 't' -> word("true", new Json.Bool(true));
      case 'f' -> word("false", new Json.Bool(false));
      case 'n' -> word("null", new Json.Null());
      default -> number();
    };
  }

  private Json word(String word, Json value) {
    if (!text.startsWith(word, at)) {
      throw failure("an unknown word");
    }
    at += word.length();
    return value;
  }

  private Json number() {
    int end = at;
    while (end < text.length() && "+-.0123456789Ee".indexOf(text.charAt(end)) >= 0) {
      end++;
    }
    if (end == at) {
      throw failure(at < text.length() ? "an unexpected character" : "it ends");
    }
    try {
      Json.Num value = new Json.Num(text.substring(at, end));
      at = end;
      return value;
    } catch (IllegalArgumentException e) {
      throw failure("a malformed number");
    }
  }

  private Json text(String value) {
    try {
      return new Json.Str(value);
    } catch (IllegalArgumentException e) {
      throw failure("a lone surrogate before");
    }
  }

  private String string() {
    int start = ++at;
    for (; ; at++) {
      char c = inString();
      if (c == '"') {
        return text.substring(start, at++);
      }
      if (c == '\\') {
        return escaped(start);
      }
    }
  }

  private char inString() {
    if (at >= text.length()) {
      throw failure("a string without end");
    }
    char c = text.charAt(at);
    if (c < ' ') {
      throw failure("a control character in a string");
    }
    return c;
  }

  /** Reads on in a string that has escapes, from the first of them. */
  private String escaped(int start) {
    StringBuilder out = new StringBuilder().append(text, start, at);
    for (; ; at++) {
      char c = inString();
      if (c == '"') {
        at++;
        return out.toString();
      }
      out.append(c == '\\' ? escape() : c);
    }
  }

  /** Reads an escape from its backslash to its last character. */
  private char escape() {
    at++;
    return switch (peek()) {
      case '"' -> '"';
      case '\\' -> '\\';
      case '/' -> '/';
      case 'b' -> '\b';
      case 'f' -> '\f';
      case 'n' -> '\n';
      case 'r' -> '\r';
      case 't' -> '\t';
      case 'u' -> unit();
      default -> throw failure("an unknown escape");
    };
  }

  private char unit() {
    int value = 0;
    for (int i = 0; i < 4; i++) {
      at++;
      int digit = peek() < 0x80 ? Character.digit(peek(), 16) : -1;
      if (digit < 0) {
        throw failure("a malformed escape");
      }
      value = value << 4 | digit;
    }
    return (char) value;
  }

  private void enter() {
    if (++depth > MAX_DEPTH) {
      throw failure("nesting deeper than " + MAX_DEPTH);
    }
    at++;
    space();
  }

  /** Takes a comma, or what closes an array or object; says whether it was the latter. */
  private boolean closes(char by) {
    space();
    char c = peek();
    if (c != by && c != ',') {
      throw failure("expected \",\" or \"" + by + "\"");
    }
    at++;
    return c == by;
  }

  private Json array() {
    enter();
    List<Json> items = new ArrayList<>();
    if (peek() == ']') {
      at++;
    } else {
      do {
        items.add(value());
      } while (!closes(']'));
    }
    depth--;
    return new Json.Arr(items);
  }

  private Json object() {
    enter();
    Map<String, Json> members = new LinkedHashMap<>();
    if (peek() == '}') {
      at++;
    } else {
      do {
        member(members);
      } while (!closes('}'));
    }
    depth--;
    try {
      return new Json.Obj(members);
    } catch (IllegalArgumentException e) {
      throw failure("a lone surrogate in a name before");
    }
  }

  private void member(Map<String, Json> of) {
    space();
    if (peek() != '"') {
      throw failure("expected a name");
    }
    String name = string();
    if (of.containsKey(name)) {
      throw failure("the member " + JsonWriter.quoted(name.substring(0, Math.min(name.length(), 40))) + " a second time");
    }
    space();
    if (peek() != ':') {
      throw failure("expected \":\"");
    }
    at++;
    of.put(name, value());
  }
}
