package dev.retrial.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.retrial.json.Json;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CaseTest {
  private static final String INPUT =
      "{\"big\":123456789012345678901234567890,\"n\":1.0,\"none\":null,\"scope\":{\"user_id\":\"u\"},\"t\":true,\"whole\":7,\"xs\":[1]}";

  private static Answer ask(Checkers.Rule rule) {
    return Trial.of(INPUT).stub("call", "yes").ask(Checkers.of(rule));
  }

  private static Answer.Failure failure(Checkers.Rule rule) {
    Answer a = ask(rule);
    assertNull(a.outcome());
    return a.failure();
  }

  @Test
  void readsMembersByTheirType() {
    Answer a =
        ask(
            c -> {
              assertEquals("u", c.text("scope", "user_id"));
              assertEquals(7, c.integer("whole"));
              assertEquals(1.0, c.number("n"));
              assertEquals(new BigDecimal("1.0"), c.decimal("n"));
              assertEquals(new BigInteger("123456789012345678901234567890"), c.bigInteger("big"));
              assertEquals(List.of(Json.of(1)), c.items("xs"));
              assertTrue(c.bool("t") && c.isNull("none") && !c.isNull("absent"));
              assertNull(c.value("scope", "absent", "deeper"));
              assertEquals(INPUT, c.input().toString());
              assertEquals(INPUT, new String(c.raw(), StandardCharsets.UTF_8));
              return Outcome.of("ok", "").withOutput(c.object("scope"));
            });
    assertEquals("{\"user_id\":\"u\"}", a.outcome().output().toString(), () -> String.valueOf(a.failure()));
  }

  @Test
  void unfitMembersAreNamed() {
    for (Checkers.Rule rule :
        List.<Checkers.Rule>of(c -> Outcome.of(c.text("whole"), ""), c -> Outcome.of("" + c.integer("n"), ""), c -> Outcome.of("" + c.bool("none"), ""))) {
      assertEquals(Answer.Code.INVALID_INPUT, failure(rule).code());
    }
    assertEquals("input: member \"scope.absent\" is missing: expected a string", failure(c -> Outcome.of(c.text("scope", "absent"), "")).message());
    assertEquals("input: member \"n\" is 1.0: expected a whole number of 64 bits", failure(c -> Outcome.of("" + c.integer("n"), "")).message());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "[]", "null", "{", "{\"a\":1,\"a\":1}"})
  void inputThatIsNoObjectIsAnError(String input) {
    Answer a = Trial.of(input).ask(Checkers.of(c -> Outcome.of(c.input().toString(), "")));
    assertEquals(Answer.Code.INVALID_INPUT, a.failure().code());
  }

  @Test
  void aMissingStubDecidesWhateverTheCheckerMakesOfIt() {
    Answer.Failure f =
        failure(
            c -> {
              c.stub("call");
              assertThrows(StubMissingException.class, () -> c.stub("other"));
              assertThrows(StubMissingException.class, () -> c.stub("third"));
              return Outcome.of("swallowed", "");
            });
    assertEquals(new Answer.Failure(Answer.Code.STUB_MISSING, "no stub for the call \"other\"", "other"), f);
  }

  @Test
  void stubsUsedAreReportedOnce() {
    Answer a =
        ask(
            c -> {
              c.stub("call");
              return Outcome.of(c.stub("call").toString(), "");
            });
    assertEquals(List.of("call"), a.stubsUsed());
    assertEquals("\"yes\"", a.outcome().verdict());
  }

  @Test
  void aCaseThatHasEndedAnswersNoCall() {
    List<Case> kept = new ArrayList<>();
    ask(
        c -> {
          kept.add(c);
          return Outcome.of("ok", "");
        });
    assertThrows(IllegalStateException.class, () -> kept.get(0).stub("call"));
  }

  @Test
  void whateverIsThrownEndsTheCase() {
    Answer.Failure f =
        failure(
            c -> {
              throw new java.io.IOException("x".repeat(100_000) + "é");
            });
    assertEquals(Answer.Code.INTERNAL, f.code());
    assertTrue(f.message().startsWith("java.io.IOException: xxx") && f.message().length() <= 2048, f.message());
    assertEquals(Answer.Code.INTERNAL, failure(CaseTest::endless).code());
    assertEquals(
        "something was thrown that cannot be shown: dev.retrial.sdk.CaseTest$Hostile",
        failure(
                c -> {
                  throw new Hostile();
                })
            .message());
  }

  private static Outcome endless(Case c) {
    return endless(c).withOutput(null);
  }

  private static final class Hostile extends RuntimeException {
    private static final long serialVersionUID = 1;

    @Override
    public String getMessage() {
      throw new IllegalStateException();
    }
  }

  @Test
  void whatIsNoOutcomeIsNone() {
    for (Outcome o : new Outcome[] {null, Outcome.of(null, ""), Outcome.of("", "why"), Outcome.of("\ud800", ""), Outcome.of("ok", "\udc00")}) {
      assertEquals(Answer.Code.INTERNAL, failure(c -> o).code());
    }
    assertEquals("", ask(c -> Outcome.of("ok", null)).outcome().reasonCode());
  }

  @Test
  void textsAreCutBetweenCharacters() {
    assertEquals("x" + "é".repeat(1023), Texts.bounded("x" + "é".repeat(2000)));
    assertEquals("?", Texts.bounded("\ud800"));
  }

  @ParameterizedTest
  @CsvSource({"whole,30.0", "whole,1e2", "whole,9223372036854775808", "half,1e999", "half,true", "flag,1", "word,7", "unknown,1"})
  void parametersThatDoNotFitAreNamed(String name, String value) {
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> Trial.of("{}").parameter(name, Json.parse(value)).ask(declaring()));
    assertTrue(e.getMessage().contains("\"" + name + "\""), e.getMessage());
  }

  @Test
  void parametersHaveTheTypeOfTheirDefault() {
    Answer byDefault = Trial.of("{}").ask(declaring());
    assertEquals("30 0.5 false w", byDefault.outcome().verdict());
    Answer given = Trial.of("{}").parameter("whole", 14).parameter("half", 1).parameter("flag", true).parameter("word", "é").ask(declaring());
    assertEquals("14 1.0 true é", given.outcome().verdict());
    Answer mistaken = Trial.of("{}").ask(Checkers.of(declaring().describe(), c -> Outcome.of("" + c.parameters().text("whole"), "")));
    assertEquals(Answer.Code.INTERNAL, mistaken.failure().code());
  }

  private static Checker declaring() {
    Description d =
        Description.of("test", "1").parameter("whole", 30, "").parameter("half", 0.5, "").parameter("flag", false, "").parameter("word", "w", "").build();
    return Checkers.of(
        d,
        c -> {
          Parameters p = c.parameters();
          return Outcome.of(p.integer("whole") + " " + p.number("half") + " " + p.bool("flag") + " " + p.text("word"), "");
        });
  }
}
