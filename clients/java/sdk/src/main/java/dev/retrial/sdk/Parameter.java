package dev.retrial.sdk;

import com.google.protobuf.ByteString;
import dev.retrial.json.Json;
import dev.retrial.json.JsonException;
import java.util.Locale;
import retrial.checker.v1.Checker.ParameterType;

/**
 * One setting of a checker. Its type is that of its default.
 *
 * @param defaultValue a Long, a Double, a Boolean or a String
 */
record Parameter(String name, Object defaultValue, String description) {
  ParameterType type() {
    if (defaultValue instanceof Long) {
      return ParameterType.PARAMETER_TYPE_INTEGER;
    } else if (defaultValue instanceof Double) {
      return ParameterType.PARAMETER_TYPE_NUMBER;
    } else if (defaultValue instanceof Boolean) {
      return ParameterType.PARAMETER_TYPE_BOOLEAN;
    }
    return ParameterType.PARAMETER_TYPE_STRING;
  }

  /** Reads a value of its type. An IllegalArgumentException for any other. */
  Object read(ByteString given) {
    try {
      Json value = Json.parse(given.asReadOnlyByteBuffer());
      if (value instanceof Json.Num n && defaultValue instanceof Long) {
        return n.toLong();
      } else if (value instanceof Json.Num n && defaultValue instanceof Double) {
        return n.toDouble();
      } else if (value instanceof Json.Bool b && defaultValue instanceof Boolean) {
        return b.value();
      } else if (value instanceof Json.Str s && defaultValue instanceof String) {
        return s.value();
      }
    } catch (JsonException | ArithmeticException e) {
      throw new IllegalArgumentException("parameter \"" + name + "\": " + e.getMessage(), e);
    }
    String found = Texts.excerpt(given.toStringUtf8());
    throw new IllegalArgumentException("parameter \"" + name + "\": " + found + " is no " + kind());
  }

  private String kind() {
    return defaultValue.getClass().getSimpleName().toLowerCase(Locale.ROOT);
  }
}
