package dev.retrial.sdk;

import java.util.ArrayList;
import java.util.List;

/** What a checker says about itself. */
public final class Description {
  private final Builder b;
  private final List<Parameter> parameters;

  private Description(Builder b) {
    this.b = b;
    this.parameters = List.copyOf(b.parameters);
  }

  /** Begins a description with the checker's name, such as "promotion", and its release version. Both are mandatory. */
  public static Builder of(String name, String version) {
    return new Builder(name, version);
  }

  String name() {
    return b.name;
  }

  String version() {
    return b.version;
  }

  /** Gives the digest that the author has set, or null. */
  String buildDigest() {
    return b.buildDigest;
  }

  List<Parameter> parameters() {
    return parameters;
  }

  List<String> verdicts() {
    return b.verdicts;
  }

  List<String> reasonCodes() {
    return b.reasonCodes;
  }

  boolean callsStubs() {
    return b.callsStubs;
  }

  String configurationVersion() {
    return b.configurationVersion;
  }

  /** Collects a description. It is used once. */
  public static final class Builder {
    private final String name;
    private final String version;
    private final List<Parameter> parameters = new ArrayList<>();
    private String buildDigest;
    private List<String> verdicts = List.of();
    private List<String> reasonCodes = List.of();
    private boolean callsStubs;
    private String configurationVersion = "";

    private Builder(String name, String version) {
      this.name = name;
      this.version = version;
    }

    /** Declares a parameter that is a whole number of 64 bits: its default, and what it does in a sentence. */
    public Builder parameter(String name, long byDefault, String description) {
      return add(new Parameter(name, byDefault, description));
    }

    /** Declares a parameter that is a number. */
    public Builder parameter(String name, double byDefault, String description) {
      return add(new Parameter(name, byDefault, description));
    }

    /** Declares a parameter that is true or false. */
    public Builder parameter(String name, boolean byDefault, String description) {
      return add(new Parameter(name, byDefault, description));
    }

    /** Declares a parameter that is a string. */
    public Builder parameter(String name, String byDefault, String description) {
      return add(new Parameter(name, byDefault, description));
    }

    private Builder add(Parameter p) {
      parameters.add(p);
      return this;
    }

    /** Declares the verdicts that the checker can give; none declares nothing. */
    public Builder verdicts(String... words) {
      verdicts = List.of(words);
      return this;
    }

    /** Declares the reason codes that the checker can give; none declares nothing. */
    public Builder reasonCodes(String... words) {
      reasonCodes = List.of(words);
      return this;
    }

    /** Says that the checker makes model calls, through {@link Case#stub}. */
    public Builder callsStubs() {
      callsStubs = true;
      return this;
    }

    /** Names the version of the configuration that the checker decides by. */
    public Builder configurationVersion(String configuration) {
      configurationVersion = configuration;
      return this;
    }

    /**
     * Tells builds apart: two that may answer differently must not share one. Default: SHA-256 over the jar, or the directory of classes,
     * that the checker's class is from.
     */
    public Builder buildDigest(String digest) {
      buildDigest = digest;
      return this;
    }

    /** Ends the description. An IllegalArgumentException says why it is not usable. */
    public Description build() {
      if (name == null || name.isEmpty() || version == null || version.isEmpty()) {
        throw new IllegalArgumentException("name and version are mandatory");
      }
      for (Parameter p : parameters) {
        if (p.name() == null || p.name().isEmpty() || p.defaultValue() == null || p.description() == null) {
          throw new IllegalArgumentException("parameter \"" + p.name() + "\": name, default and description are mandatory");
        }
        if (p.defaultValue() instanceof Double d && !Double.isFinite(d)) {
          throw new IllegalArgumentException("parameter \"" + p.name() + "\": its default is " + d + ", which is no JSON number");
        }
      }
      if (parameters.stream().map(Parameter::name).distinct().count() < parameters.size()) {
        throw new IllegalArgumentException("two parameters have one name");
      }
      return new Description(this);
    }
  }
}
