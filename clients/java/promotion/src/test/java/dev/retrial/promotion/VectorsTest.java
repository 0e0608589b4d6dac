package dev.retrial.promotion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.google.protobuf.ByteString;
import dev.retrial.json.Json;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import retrial.checker.v1.Checker.Case;
import retrial.checker.v1.Checker.CheckRequest;
import retrial.checker.v1.Checker.Open;
import retrial.checker.v1.Checker.Result;
import retrial.checker.v1.Checker.Stub;

/** The vectors of clients/checkers/promotion/testdata, in the format of clients/checkers/promotion/vectors. */
@Timeout(120)
class VectorsTest {
  @Test
  void theCheckerAnswersAllVectorsAsTheGoOneDoes(@TempDir Path dir) throws Exception {
    Map<Json, List<Json.Obj>> byParameters = new LinkedHashMap<>();
    for (Json.Obj v : vectors()) {
      byParameters.computeIfAbsent(v.get("parameters"), p -> new ArrayList<>()).add(v);
    }
    int answered = 0;
    try (Program program = Program.launched(Main.class, dir);
        Connection connection = new Connection(program.socket())) {
      for (Map.Entry<Json, List<Json.Obj>> group : byParameters.entrySet()) {
        Random random = new Random(group.getValue().size());
        Collections.shuffle(group.getValue(), random);
        Map<Long, Json.Obj> asked = new HashMap<>();
        List<CheckRequest> requests = requests((Json.Obj) group.getKey(), group.getValue(), random, asked);
        for (Result r : connection.ask(requests)) {
          Json.Obj v = asked.remove(r.getCaseId()); // one that is answered twice is not there any more
          assertEquals(expected(v), shown(r), v.get("name")::toString);
          answered++;
        }
        assertEquals(Map.of(), asked);
      }
    }
    assertEquals(2200, answered);
    assertEquals(3, byParameters.size());
  }

  private static List<Json.Obj> vectors() throws IOException {
    Path file = Program.repository().resolve("clients/checkers/promotion/testdata/vectors.jsonl.gz");
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(new GZIPInputStream(Files.newInputStream(file)), StandardCharsets.UTF_8))) {
      return lines.lines().map(line -> (Json.Obj) Json.parse(line)).toList();
    }
  }

  /** Gives the opening, and the cases in batches of random sizes. */
  private static List<CheckRequest> requests(Json.Obj parameters, List<Json.Obj> vectors, Random random, Map<Long, Json.Obj> asked) {
    Open.Builder open = Open.newBuilder();
    parameters.members().forEach((name, value) -> open.putParameters(name, ByteString.copyFromUtf8(value.toString())));
    List<CheckRequest> out = new ArrayList<>(List.of(CheckRequest.newBuilder().setOpen(open).build()));
    CheckRequest.Builder batch = CheckRequest.newBuilder();
    int size = 1;
    for (Json.Obj v : vectors) {
      long id = random.nextLong();
      asked.put(id, v);
      batch.addCases(Case.newBuilder().setCaseId(id).setInput(bytes(v.get("input"))).addAllStubs(stubs(v)));
      if (batch.getCasesCount() == size) {
        out.add(batch.build());
        batch.clear();
        size = 1 + random.nextInt(100);
      }
    }
    if (batch.getCasesCount() > 0) {
      out.add(batch.build());
    }
    return out;
  }

  private static List<Stub> stubs(Json.Obj v) {
    return items(v.get("stubs")).stream()
        .map(s -> Stub.newBuilder().setCall(text(((Json.Obj) s).get("call"))).setValue(bytes(((Json.Obj) s).get("value"))).build())
        .toList();
  }

  private static List<Json> items(Json value) {
    return value instanceof Json.Arr array ? array.items() : List.of();
  }

  private static String text(Json value) {
    return ((Json.Str) value).value();
  }

  private static ByteString bytes(Json base64) {
    return ByteString.copyFrom(Base64.getDecoder().decode(text(base64)));
  }

  private static Json expected(Json.Obj v) {
    String kind = v.get("outcome") != null ? "outcome" : "error";
    return Json.of(Map.of(kind, v.get(kind), "stubs_used", v.get("stubs_used")));
  }

  /** Gives a result as a vector has it. */
  private static Json shown(Result r) {
    Map<String, Object> out = new HashMap<>(Map.of("stubs_used", List.copyOf(r.getStubsUsedList())));
    if (r.hasOutcome()) {
      assertEquals(0, r.getOutcome().getOutput().size());
      out.put("outcome", Map.of("verdict", r.getOutcome().getVerdict(), "reason_code", r.getOutcome().getReasonCode()));
    } else {
      assertFalse(r.getError().getMessage().isEmpty());
      Map<String, String> error = new HashMap<>(Map.of("code", r.getError().getCode().name().substring("CASE_ERROR_CODE_".length())));
      if (!r.getError().getCall().isEmpty()) {
        error.put("call", r.getError().getCall());
      }
      out.put("error", error);
    }
    return Json.of(out);
  }
}
