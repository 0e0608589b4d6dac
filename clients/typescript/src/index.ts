import "./stdout.js"; // first: what other modules log while they are loaded must not reach stdout

export type { Access } from "./access.js";
export { type AttachOptions, attach, keepAttached } from "./attach.js";
export type { Case } from "./case.js";
export { noPin, type Pin, TamperedError } from "./check.js";
export { type Checker, type Description, defineChecker, type Outcome } from "./checker.js";
export { Client, type ClientOptions, type GateOptions, type ReplayOptions } from "./client.js";
export { type Answer, type Trial, tryCase } from "./decide.js";
export { InputError, StubMissingError } from "./errors.js";
export { CaseErrorCode } from "./gen/retrial/checker/v1/checker_pb.js";
export { type Decision, type GetGateStatusResponse, Ruling, Status } from "./gen/retrial/gate/v1/gate_pb.js";
export { type Jsonable, type JsonableObject, type JsonObject, type JsonValue, parse, stringify } from "./json.js";
export { listen } from "./listen.js";
export { JsonNumber } from "./number.js";
export type { ParameterDefinition, ParameterDefinitions, ParameterValues } from "./parameters.js";
export { pinFileOf } from "./pin.js";
export { NoDecisionError, passed, Replay, type ReplayEvent } from "./replay.js";
export { StatusError } from "./rpc.js";
export { serve } from "./serve.js";
