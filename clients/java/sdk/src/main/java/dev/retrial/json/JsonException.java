package dev.retrial.json;

/** Says that a text is no JSON, and where. */
public final class JsonException extends IllegalArgumentException {
  private static final long serialVersionUID = 1;

  JsonException(String message) {
    super(message);
  }
}
