package dev.retrial.sdk;

import com.google.protobuf.ByteString;
import dev.retrial.json.Json;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import retrial.checker.v1.Checker.Stub;

/** A case for the unit test of a checker. */
public final class Trial {
  private final ByteString input;
  private final List<Stub> stubs = new ArrayList<>();
  private final Map<String, ByteString> parameters = new HashMap<>();

  private Trial(ByteString input) {
    this.input = input;
  }

  /** Begins a case with its input as JSON. */
  public static Trial of(String input) {
    return new Trial(ByteString.copyFromUtf8(input));
  }

  /** Gives a parameter a value, of which {@link Json#of} makes JSON. */
  public Trial parameter(String name, Object value) {
    parameters.put(name, ByteString.copyFromUtf8(Json.of(value).toString()));
    return this;
  }

  /** Records the value of a model call, of which {@link Json#of} makes JSON. */
  public Trial stub(String call, Object value) {
    stubs.add(Stub.newBuilder().setCall(call).setValue(ByteString.copyFromUtf8(Json.of(value).toString())).build());
    return this;
  }

  /** Has a checker decide the case as a host would. An IllegalArgumentException for parameters that do not fit. */
  public Answer ask(Checker checker) {
    return Answer.of(checker, new Case(1, input, stubs, Parameters.bind(checker.describe(), parameters), () -> false));
  }
}
