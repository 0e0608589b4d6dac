/** The environment variable that every launched checker finds set. It is no secret. */
const cookieVariable = "RETRIAL_CHECKER";
const cookieValue = "d1c7b2e0-checker-plugin";

/** Says whether Retrial has launched this process. */
export function isLaunched(env: NodeJS.ProcessEnv): boolean {
  return env[cookieVariable] === cookieValue;
}

/**
 * The stdout of a launched checker carries the handshake and nothing else, and modules log while they are loaded: it is turned to
 * stderr as soon as this one is. The handshake is written to the descriptor.
 */
if (isLaunched(process.env)) {
  process.stdout.write = process.stderr.write.bind(process.stderr);
}
