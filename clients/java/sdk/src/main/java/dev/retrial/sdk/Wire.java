package dev.retrial.sdk;

import com.google.protobuf.ByteString;
import dev.retrial.json.Json;
import retrial.checker.v1.Checker.CaseError;
import retrial.checker.v1.Checker.CaseErrorCode;
import retrial.checker.v1.Checker.DescribeResponse;
import retrial.checker.v1.Checker.Result;

/** Gives what the SDK has in the contract's form. */
final class Wire {
  /** The version of the plugin contract. */
  static final int CONTRACT_VERSION = 1;

  private Wire() {}

  static DescribeResponse description(Checker checker) {
    Description d = checker.describe();
    if (d == null) {
      throw new IllegalArgumentException("there is none");
    }
    String digest = d.buildDigest() == null ? BuildDigest.of(checker.getClass()) : d.buildDigest();
    DescribeResponse.Builder out =
        DescribeResponse.newBuilder()
            .setName(d.name())
            .setVersion(d.version())
            .setBuildDigest(digest)
            .setContractVersion(CONTRACT_VERSION)
            .addAllVerdicts(d.verdicts())
            .addAllReasonCodes(d.reasonCodes())
            .setCallsStubs(d.callsStubs())
            .setConfigurationVersion(d.configurationVersion());
    for (Parameter p : d.parameters()) {
      out.addParametersBuilder()
          .setName(p.name())
          .setType(p.type())
          .setDefaultJson(ByteString.copyFromUtf8(Json.of(p.defaultValue()).toString()))
          .setDescription(p.description());
    }
    return out.build();
  }

  static Result result(long caseId, Answer a) {
    Result.Builder out = Result.newBuilder().setCaseId(caseId).addAllStubsUsed(a.stubsUsed());
    if (a.failure() != null) {
      Answer.Failure f = a.failure();
      CaseErrorCode code = CaseErrorCode.valueOf("CASE_ERROR_CODE_" + f.code());
      return out.setError(CaseError.newBuilder().setCode(code).setMessage(f.message()).setCall(f.call())).build();
    }
    Outcome o = a.outcome();
    out.getOutcomeBuilder().setVerdict(o.verdict()).setReasonCode(o.reasonCode());
    if (o.output() != null) {
      out.getOutcomeBuilder().setOutput(ByteString.copyFromUtf8(o.output().toString()));
    }
    return out.build();
  }
}
