package dev.retrial.sdk;

import com.google.protobuf.ByteString;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The values of a checker's parameters. Each method throws an IllegalArgumentException for a name that is not declared with its type. */
public final class Parameters {
  private final Map<String, Object> values;

  private Parameters(Map<String, Object> values) {
    this.values = values;
  }

  /** Gives each declared parameter its value: the given one, or the default. An IllegalArgumentException names each that does not fit. */
  static Parameters bind(Description d, Map<String, ByteString> given) {
    Map<String, Object> values = new HashMap<>();
    List<String> errors = new ArrayList<>();
    for (Parameter p : d.parameters()) {
      values.put(p.name(), p.defaultValue());
      try {
        if (given.containsKey(p.name())) {
          values.put(p.name(), p.read(given.get(p.name())));
        }
      } catch (IllegalArgumentException e) {
        errors.add(e.getMessage());
      }
    }
    for (String name : given.keySet()) {
      if (!values.containsKey(name)) {
        errors.add("parameter \"" + Texts.excerpt(name) + "\": the checker takes no such parameter");
      }
    }
    if (!errors.isEmpty()) {
      throw new IllegalArgumentException(String.join("\n", errors));
    }
    return new Parameters(values);
  }

  /** Gives the value of a parameter whose default is a whole number. */
  public long integer(String name) {
    return value(name, Long.class);
  }

  /** Gives the value of a parameter whose default is a double. */
  public double number(String name) {
    return value(name, Double.class);
  }

  /** Gives the value of a parameter whose default is true or false. */
  public boolean bool(String name) {
    return value(name, Boolean.class);
  }

  /** Gives the value of a parameter whose default is a string. */
  public String text(String name) {
    return value(name, String.class);
  }

  private <T> T value(String name, Class<T> type) {
    Object value = values.get(name);
    if (!type.isInstance(value)) {
      throw new IllegalArgumentException(
          "the checker declares no parameter \"" + name + "\" of type " + type.getSimpleName());
    }
    return type.cast(value);
  }
}
