import { createHash } from "node:crypto";

/** The Merkle tree of RFC 6962, as golang.org/x/mod/sumdb/tlog computes it. A hash has 32 bytes. */
export interface Tree {
  readonly size: number;
  readonly root: Uint8Array;
}

const hashSize = 32;

/** Gives the hash of a leaf. */
export function leafHash(leaf: Uint8Array): Uint8Array {
  return createHash("sha256").update(Uint8Array.of(0)).update(leaf).digest();
}

function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  return createHash("sha256").update(Uint8Array.of(1)).update(left).update(right).digest();
}

/** Says whether a proof shows that a tree has a leaf with that hash at that index. */
export function isIncluded(proof: readonly Uint8Array[], tree: Tree, index: number, leaf: Uint8Array): boolean {
  if (!Number.isSafeInteger(index) || index < 0 || index >= tree.size || !proof.every(isHash)) {
    return false;
  }
  const root = includedRoot(proof, 0, tree.size, index, leaf);
  return root !== undefined && equal(root, tree.root);
}

/** Says whether a proof shows that a tree begins with all leaves of an older one. */
export function isExtended(proof: readonly Uint8Array[], tree: Tree, older: Tree): boolean {
  if (older.size < 1 || older.size > tree.size || !proof.every(isHash)) {
    return false;
  }
  const roots = extendedRoots(proof, 0, tree.size, older.size, older.root);
  return roots !== undefined && equal(roots[0], older.root) && equal(roots[1], tree.root);
}

const isHash = (h: Uint8Array) => h.length === hashSize;
const equal = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0;

/** Gives the greatest power of two below n. */
function split(n: number): number {
  let k = 1;
  while (2 * k < n) {
    k *= 2;
  }
  return k;
}

/** Gives the root of the subtree over the leaves from `from` to `to`, or undefined where the proof does not lead to it. */
function includedRoot(
  proof: readonly Uint8Array[],
  from: number,
  to: number,
  index: number,
  leaf: Uint8Array,
): Uint8Array | undefined {
  if (from + 1 === to) {
    return proof.length === 0 ? leaf : undefined;
  }
  const sibling = proof.at(-1);
  const middle = from + split(to - from);
  const isLeft = index < middle;
  const below = isLeft
    ? includedRoot(proof.slice(0, -1), from, middle, index, leaf)
    : includedRoot(proof.slice(0, -1), middle, to, index, leaf);
  if (sibling === undefined || below === undefined) {
    return undefined;
  }
  return isLeft ? nodeHash(below, sibling) : nodeHash(sibling, below);
}

/** Gives the roots of the older and the newer tree, as far as they lie between `from` and `to`. */
function extendedRoots(
  proof: readonly Uint8Array[],
  from: number,
  to: number,
  older: number,
  olderRoot: Uint8Array,
): [Uint8Array, Uint8Array] | undefined {
  const last = proof.at(-1);
  if (older === to) {
    if (from === 0) {
      return proof.length === 0 ? [olderRoot, olderRoot] : undefined;
    }
    return proof.length === 1 && last !== undefined ? [last, last] : undefined;
  }
  if (last === undefined) {
    return undefined;
  }
  const middle = from + split(to - from);
  const isLeft = older <= middle;
  const below = isLeft
    ? extendedRoots(proof.slice(0, -1), from, middle, older, olderRoot)
    : extendedRoots(proof.slice(0, -1), middle, to, older, olderRoot);
  if (below === undefined) {
    return undefined;
  }
  const [olderBelow, newerBelow] = below;
  return isLeft ? [olderBelow, nodeHash(newerBelow, last)] : [nodeHash(last, olderBelow), nodeHash(last, newerBelow)];
}
