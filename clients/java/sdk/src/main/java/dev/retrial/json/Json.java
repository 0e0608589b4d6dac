package dev.retrial.json;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * A JSON value that loses nothing: members keep their order, numbers their literal. {@code toString} writes it as JSON. Values are
 * immutable; two are equal if they are written alike, but for the order of members.
 */
public sealed interface Json {
  /** Null. */
  record Null() implements Json {
    @Override
    public String toString() {
      return "null";
    }
  }

  /** True or false. */
  record Bool(boolean value) implements Json {
    @Override
    public String toString() {
      return String.valueOf(value);
    }
  }

  /** A string. It is well formed: no lone surrogates. */
  record Str(String value) implements Json {
    /** Throws an IllegalArgumentException for a lone surrogate. */
    public Str {
      if (!isWellFormed(value)) {
        throw new IllegalArgumentException("a string with a lone surrogate has no place in a JSON document");
      }
    }

    @Override
    public String toString() {
      return JsonWriter.quoted(value);
    }
  }

  /** A number, by its literal: 9007199254740993, 1.0, 1e2 and -0 are themselves. */
  record Num(String literal) implements Json {
    private static final Pattern GRAMMAR =
        Pattern.compile("-?(?:0|[1-9][0-9]*+)(?:\\.[0-9]++)?(?:[eE][+-]?[0-9]++)?");

    /** Throws an IllegalArgumentException for what is no JSON number. */
    public Num {
      if (!GRAMMAR.matcher(literal).matches()) {
        throw new IllegalArgumentException(excerpt(literal) + " is no JSON number");
      }
    }

    /** Says whether it is written without fraction and exponent: 12 and -0, not 12.0. */
    public boolean isWhole() {
      return literal.chars().allMatch(c -> c == '-' || c >= '0' && c <= '9');
    }

    /** Gives the nearest double. An ArithmeticException beyond the greatest of them. */
    public double toDouble() {
      double nearest = Double.parseDouble(literal);
      if (Double.isInfinite(nearest)) {
        throw new ArithmeticException(excerpt(literal) + " is beyond the range of a double");
      }
      return nearest;
    }

    /** Gives the exact value of a whole number of 64 bits. An ArithmeticException for any other. */
    public long toLong() {
      if (!isWhole() || literal.length() > 20) {
        throw new ArithmeticException(excerpt(literal) + " is no whole number of 64 bits");
      }
      return toBigInteger().longValueExact();
    }

    /** Gives the exact value of a whole number of any size. An ArithmeticException for any other. */
    public BigInteger toBigInteger() {
      if (!isWhole()) {
        throw new ArithmeticException(excerpt(literal) + " is no whole number");
      }
      return new BigInteger(literal);
    }

    /** Gives the exact value. An ArithmeticException for an exponent beyond those of a BigDecimal. */
    public BigDecimal toBigDecimal() {
      try {
        return new BigDecimal(literal);
      } catch (NumberFormatException e) {
        throw new ArithmeticException(excerpt(literal) + " is beyond the range of a BigDecimal");
      }
    }

    @Override
    public String toString() {
      return literal;
    }
  }

  /** An array. */
  record Arr(List<Json> items) implements Json {
    /** Copies the items. */
    public Arr {
      items = List.copyOf(items);
    }

    @Override
    public String toString() {
      return JsonWriter.write(this);
    }
  }

  /** An object. Its members keep their order. */
  record Obj(Map<String, Json> members) implements Json {
    /** Copies the members. An IllegalArgumentException for a name with a lone surrogate. */
    public Obj {
      members = Collections.unmodifiableMap(new LinkedHashMap<>(members));
      for (Map.Entry<String, Json> m : members.entrySet()) {
        if (m.getValue() == null || !isWellFormed(m.getKey())) {
          throw new IllegalArgumentException("the member " + excerpt(m.getKey()) + " is no member of a JSON object");
        }
      }
    }

    /** Gives a member by its exact name, or null where there is none. A member that is null is a {@link Null}. */
    public Json get(String name) {
      return members.get(name);
    }

    @Override
    public String toString() {
      return JsonWriter.write(this);
    }
  }

  /**
   * Parses a JSON text. A {@link JsonException} for what is no JSON, for an object that has a member twice, a lone surrogate, and
   * nesting deeper than 128.
   */
  static Json parse(String text) {
    return new JsonParser(text).document();
  }

  /** Parses a JSON text in UTF-8. A {@link JsonException} for what is no UTF-8 as well. */
  static Json parse(ByteBuffer utf8) {
    try {
      return parse(StandardCharsets.UTF_8.newDecoder().decode(utf8).toString());
    } catch (CharacterCodingException e) {
      throw new JsonException("it is no UTF-8");
    }
  }

  /**
   * Makes a value of null, a Boolean, a String, a whole number, a finite Double or Float, a BigDecimal, a Collection, a Map with names
   * for keys, or a Json. An IllegalArgumentException for anything else.
   */
  static Json of(Object value) {
    if (value == null) {
      return new Null();
    } else if (value instanceof Json json) {
      return json;
    } else if (value instanceof Boolean b) {
      return new Bool(b);
    } else if (value instanceof String s) {
      return new Str(s);
    } else if (value instanceof Number n) {
      return new Num(n.toString());
    } else if (value instanceof Collection<?> items) {
      List<Json> out = new ArrayList<>(items.size());
      items.forEach(item -> out.add(of(item)));
      return new Arr(out);
    } else if (value instanceof Map<?, ?> members) {
      Map<String, Json> out = new LinkedHashMap<>();
      members.forEach((name, member) -> out.put(((Str) of(String.valueOf(name))).value(), of(member)));
      return new Obj(out);
    }
    throw new IllegalArgumentException("a " + value.getClass().getName() + " has no place in a JSON document");
  }

  /** Shows the beginning of a text in a message. */
  private static String excerpt(String text) {
    String s = String.valueOf(text);
    return s.length() <= 40 ? s : s.substring(0, 40) + "…";
  }

  private static boolean isWellFormed(String text) {
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (Character.isHighSurrogate(c) && i + 1 < text.length() && Character.isLowSurrogate(text.charAt(i + 1))) {
        i++;
      } else if (Character.isSurrogate(c)) {
        return false;
      }
    }
    return true;
  }
}
