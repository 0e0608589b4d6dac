package dev.retrial.json;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "null", "true", "false", "\"\"", "\"é😀\"", "[]", "{}", "[1,[2,{\"a\":null}]]", "{\"b\":1,\"a\":{\"\":[]}}", "\"\\\"\\\\\\n\\u0000\"",
        "0", "-0", "1.0", "1e2", "1E+2", "0.60000000000000001", "9007199254740993", "123456789012345678901234567890", "1e999"
      })
  void losesNothing(String text) {
    assertEquals(text, Json.parse(text).toString());
    assertEquals(Json.parse(text), Json.parse(" \n\t\r" + text + " "));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "", " ", "nul", "True", "01", "-", "+1", "1.", ".5", "1e", "0x1", "NaN", "1 2", "\"", "\"\t\"", "\"\\x\"", "\"\\u12g4\"", "\"\\u１２３４\"",
        "\"\\ud800\"", "\"\\udc00\\ud800\"", "{\"\\ud800\":1}", "[1,]", "[,1]", "[1", "{\"a\"}", "{\"a\":1,}", "{a:1}", "{\"a\":1,\"\\u0061\":2}", "[1}", "\u00a01"
      })
  void refusesWhatIsNoJson(String text) {
    assertThrows(JsonException.class, () -> Json.parse(text));
  }

  @Test
  void refusesBytesThatAreNoUtf8() {
    assertThrows(JsonException.class, () -> Json.parse(ByteBuffer.wrap(new byte[] {'"', (byte) 0xc3, '"'})));
  }

  @Test
  void nestsAsDeepAsAHostAdmits() {
    Json.parse("[".repeat(128) + "]".repeat(128));
    assertThrows(JsonException.class, () -> Json.parse("[".repeat(129) + "]".repeat(129)));
  }

  @Test
  void givesNumbersAsWhatTheyAre() {
    Json.Num n = new Json.Num("9007199254740993");
    assertEquals(9007199254740993L, n.toLong());
    assertEquals(9007199254740992.0, n.toDouble());
    assertEquals(new BigInteger("123456789012345678901234567890"), new Json.Num("123456789012345678901234567890").toBigInteger());
    assertEquals(new BigDecimal("1.0"), new Json.Num("1.0").toBigDecimal());
    assertEquals(Long.MIN_VALUE, new Json.Num("-9223372036854775808").toLong());
    assertTrue(new Json.Num("-0").isWhole());
    for (String other : List.of("1.0", "1e2", "9223372036854775808", "-9223372036854775809", "1".repeat(1 << 20))) {
      assertThrows(ArithmeticException.class, () -> new Json.Num(other).toLong(), other);
    }
    assertThrows(ArithmeticException.class, () -> new Json.Num("1.0").toBigInteger());
    assertThrows(ArithmeticException.class, () -> new Json.Num("1e999").toDouble());
    assertThrows(ArithmeticException.class, () -> new Json.Num("1e99999999999").toBigDecimal());
  }

  @Test
  void isMadeOfValues() {
    Json made = Json.of(Arrays.asList(null, true, 7, 0.5, new BigDecimal("1E+2"), "x", Map.of("a", List.of())));
    assertEquals("[null,true,7,0.5,1E+2,\"x\",{\"a\":[]}]", made.toString());
    for (Object other : List.of(Double.NaN, Float.POSITIVE_INFINITY, "\ud800", 'c', Map.of("\udc00", 1))) {
      assertThrows(IllegalArgumentException.class, () -> Json.of(other));
    }
  }

  @Test
  void objectsAreEqualWhateverTheOrderAndNumbersByTheirLiteral() {
    assertEquals(Json.parse("{\"a\":1,\"b\":2}"), Json.parse("{\"b\":2,\"a\":1}"));
    assertNotEquals(Json.parse("1"), Json.parse("1.0"));
  }
}
