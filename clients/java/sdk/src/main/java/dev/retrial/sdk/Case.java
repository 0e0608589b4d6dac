package dev.retrial.sdk;

import com.google.protobuf.ByteString;
import dev.retrial.json.Json;
import dev.retrial.json.JsonException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import retrial.checker.v1.Checker.Stub;

/**
 * One decision to make. It is valid until {@link Checker#check} returns: keep nothing of it.
 *
 * <p>Methods that take a path read a member of the input by its exact names, such as {@code text("scope", "user_id")}. It must be there
 * and of that type; otherwise an {@link InputException} names it.
 */
public final class Case {
  private final long id;
  private final ByteString raw;
  private final List<Stub> stubs;
  private final Parameters parameters;
  private final BooleanSupplier cancelled;
  private Json.Obj input;

  // A thread that outlives the case may still ask: guarded by this.
  private final Set<String> used = new LinkedHashSet<>();
  private String missing;
  private boolean over;

  Case(long id, ByteString raw, List<Stub> stubs, Parameters parameters, BooleanSupplier cancelled) {
    this.id = id;
    this.raw = raw;
    this.stubs = stubs;
    this.parameters = parameters;
    this.cancelled = cancelled;
  }

  /** Gives the frozen input as bytes: canonical JSON in UTF-8. */
  public byte[] raw() {
    return raw.toByteArray();
  }

  /** Gives the frozen input, parsed. An {@link InputException} where it is no JSON object. */
  public Json.Obj input() {
    if (input == null) {
      if (!(parse(raw, "") instanceof Json.Obj object)) {
        throw new InputException("it is no JSON object");
      }
      input = object;
    }
    return input;
  }

  /** Gives any member of the input; null where there is none. A member that is null is a {@link Json.Null}. */
  public Json value(String... path) {
    Json at = input();
    for (String name : path) {
      at = at instanceof Json.Obj object ? object.get(name) : null;
    }
    return at;
  }

  /** Says whether a member of the input is there and null. */
  public boolean isNull(String... path) {
    return value(path) instanceof Json.Null;
  }

  /** Gives a string. */
  public String text(String... path) {
    return member(path, Json.Str.class, Json.Str::value, "a string");
  }

  /** Gives true or false. */
  public boolean bool(String... path) {
    return member(path, Json.Bool.class, Json.Bool::value, "true or false");
  }

  /** Gives an object. */
  public Json.Obj object(String... path) {
    return member(path, Json.Obj.class, Function.identity(), "an object");
  }

  /** Gives the items of an array. */
  public List<Json> items(String... path) {
    return member(path, Json.Arr.class, Json.Arr::items, "an array");
  }

  /** Gives the double that is nearest to a number. */
  public double number(String... path) {
    return member(path, Json.Num.class, Json.Num::toDouble, "a number");
  }

  /** Gives a whole number of 64 bits, written without fraction and exponent. */
  public long integer(String... path) {
    return member(path, Json.Num.class, Json.Num::toLong, "a whole number of 64 bits");
  }

  /** Gives a whole number of any size, written without fraction and exponent. */
  public BigInteger bigInteger(String... path) {
    return member(path, Json.Num.class, Json.Num::toBigInteger, "a whole number");
  }

  /** Gives the exact value of a number. */
  public BigDecimal decimal(String... path) {
    return member(path, Json.Num.class, Json.Num::toBigDecimal, "a number");
  }

  private <J extends Json, T> T member(String[] path, Class<J> type, Function<J, T> read, String kind) {
    Json value = value(path);
    try {
      if (type.isInstance(value)) {
        return read.apply(type.cast(value));
      }
    } catch (ArithmeticException e) {
      // It is a number, and not of the kind that is asked for.
    }
    String name = "member \"" + String.join(".", path) + "\" is ";
    String found = value == null ? "missing" : Texts.excerpt(value.toString());
    throw new InputException(name + found + ": expected " + kind);
  }

  /** Gives the values of the parameters that the checker declares. */
  public Parameters parameters() {
    return parameters;
  }

  /**
   * Gives the recorded value of a model call.
   *
   * <p>Where the case has none, it throws a {@link StubMissingException} and the case ends as that, even if the checker goes on to
   * decide it: a missing stub is never answered by a default.
   */
  public Json stub(String call) {
    return parse(recorded(call), "stub \"" + call + "\": ");
  }

  private synchronized ByteString recorded(String call) {
    if (over) {
      throw new IllegalStateException("the stub \"" + call + "\" is asked for after the case has ended");
    }
    for (Stub s : stubs) {
      if (s.getCall().equals(call)) {
        used.add(call);
        return s.getValue();
      }
    }
    if (missing == null) {
      missing = call;
    }
    throw new StubMissingException(call);
  }

  private static Json parse(ByteString json, String where) {
    try {
      return Json.parse(json.asReadOnlyByteBuffer());
    } catch (JsonException e) {
      throw new InputException(where + e.getMessage(), e);
    }
  }

  /**
   * Gives an opaque name of the case, another one each time that it is asked. A checker that calls a model endpoint of Retrial by itself
   * can say with it, by the header Retrial-Case, for which case it asks. Nothing else is to be made of it.
   */
  public String handle() {
    return Long.toUnsignedString(id);
  }

  /** Says whether nobody waits for the answer any more: a long decision may end early, by whatever it throws. */
  public boolean isCancelled() {
    return cancelled.getAsBoolean();
  }

  /** Ends the case: from now on it answers no call. */
  synchronized void end() {
    over = true;
  }

  /** Gives the first call that had no stub, or null. */
  synchronized String missing() {
    return missing;
  }

  /** Gives the calls whose stubs were asked for, each once. */
  synchronized List<String> used() {
    return List.copyOf(used);
  }
}
