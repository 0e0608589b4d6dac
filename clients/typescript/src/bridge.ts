import type { Socket } from "node:net";
import { create } from "@bufbuild/protobuf";
import { type ClientDuplexStream, type StatusObject, status } from "@grpc/grpc-js";
import {
  type AttachRequest,
  AttachRequestSchema,
  type AttachResponse,
  type Instance,
} from "./gen/retrial/registry/v1/registry_pb.js";

/** Bounds the bytes of one part of a tunnel. */
const maxPartBytes = 64 << 10;

/** How long a server may take to end a stream whose connection has ended. */
const endMilliseconds = 5000;

/**
 * Carries bytes both ways between a connection and an Attach stream, each as fast as the other takes them, until one of them ends;
 * then it ends the other. It gives the status of the stream.
 */
export function bridge(
  stream: ClientDuplexStream<AttachRequest, AttachResponse>,
  name: string,
  socket: Socket,
  onAttached: (instance: Instance | undefined) => void,
): Promise<StatusObject> {
  stream.write(create(AttachRequestSchema, { part: { case: "hello", value: { name } } }));
  socket.on("data", (bytes: Buffer) => toTunnel(stream, socket, bytes));
  stream.on("data", ({ part }: AttachResponse) => {
    if (part.case === "attached") {
      onAttached(part.value.instance);
    } else if (part.case === "data" && part.value.length > 0 && !socket.destroyed && !socket.write(part.value)) {
      stream.pause();
      socket.once("drain", () => stream.resume());
    }
  });
  socket.on("error", () => undefined); // how a connection ends is not told apart: "close" follows
  stream.on("error", () => undefined); // the status says it
  return new Promise((resolve) => {
    let hard: NodeJS.Timeout | undefined;
    let ended = false;
    socket.on("close", () => {
      if (!ended) {
        stream.end();
        stream.resume(); // what waits for the connection waits in vain
        hard = setTimeout(() => stream.cancel(), endMilliseconds);
      }
    });
    stream.on("status", (end: StatusObject) => {
      ended = true;
      clearTimeout(hard);
      socket.destroy();
      resolve(end);
    });
  });
}

function toTunnel(stream: ClientDuplexStream<AttachRequest, AttachResponse>, socket: Socket, bytes: Buffer): void {
  let taken = true;
  for (let at = 0; at < bytes.length; at += maxPartBytes) {
    const value = bytes.subarray(at, at + maxPartBytes);
    taken = stream.write(create(AttachRequestSchema, { part: { case: "data", value } }));
  }
  if (!taken) {
    socket.pause();
    stream.once("drain", () => socket.resume());
  }
}

/** Says whether an attempt to attach that ended so fails the next time as well. */
export function isFinal(code: status): boolean {
  switch (code) {
    case status.INVALID_ARGUMENT:
    case status.PERMISSION_DENIED:
    case status.UNAUTHENTICATED:
    case status.ALREADY_EXISTS:
    case status.UNIMPLEMENTED:
      return true;
    default:
      return false;
  }
}
