import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { type ChannelCredentials, credentials } from "@grpc/grpc-js";

/** Says how a client reaches a server and who it is. Empty is in the clear, and nobody. */
export interface Access {
  /** Encrypts, with the authorities that Node trusts, or those of `ca`. TLS 1.3 is the least. */
  readonly tls?: boolean;
  /** The path of the authorities that issued the server's certificate, as PEM; it implies TLS. */
  readonly ca?: string;
  /** The paths of a client certificate and its key, as PEM; they imply TLS. */
  readonly cert?: string;
  readonly key?: string;
  /** A bearer token. */
  readonly token?: string;
  /** Sends the token in the clear. Only for a server that this machine alone reaches. */
  readonly insecureToken?: boolean;
}

/** Gives the credentials of a connection. The files are read once. */
export function channelCredentials(a: Access): ChannelCredentials {
  const encrypted = a.tls === true || [a.ca, a.cert, a.key].some((file) => file !== undefined);
  if (a.token !== undefined && !encrypted && a.insecureToken !== true) {
    throw new TypeError("a token is not sent in the clear to another machine: use TLS");
  }
  if (!encrypted) {
    return credentials.createInsecure();
  }
  if ((a.cert === undefined) !== (a.key === undefined)) {
    throw new TypeError("a client certificate and its key go together");
  }
  return credentials.createFromSecureContext(
    createSecureContext({
      minVersion: "TLSv1.3",
      ...(a.ca === undefined ? {} : { ca: authorities(a.ca) }),
      ...(a.cert === undefined || a.key === undefined ? {} : { cert: readFileSync(a.cert), key: readFileSync(a.key) }),
    }),
  );
}

function authorities(file: string): Buffer {
  const pem = readFileSync(file);
  try {
    new X509Certificate(pem);
  } catch (cause) {
    throw new TypeError(`${file}: there is no certificate in it`, { cause });
  }
  return pem;
}
