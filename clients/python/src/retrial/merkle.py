"""Proofs over the Merkle tree of RFC 6962."""

import hashlib
from collections.abc import Sequence

HASH_SIZE = 32


class ProofError(Exception):
    """A proof does not hold."""


def leaf_hash(leaf: bytes) -> bytes:
    """The hash of a leaf."""
    return hashlib.sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of a node over two others."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def check_inclusion(proof: Sequence[bytes], size: int, root: bytes, index: int, leaf: bytes) -> None:
    """Holds a leaf's hash against the tree of a size and root. ProofError where it is not at that index."""
    if not 0 <= index < size:
        raise ProofError(f"entry {index} of {size}")
    if _climb(_sized(proof), 0, size, index, leaf) != root:
        raise ProofError("the inclusion proof does not lead to the root")


def check_consistency(proof: Sequence[bytes], size: int, root: bytes, old_size: int, old_root: bytes) -> None:
    """Holds a tree against an older one. ProofError where it does not extend that."""
    if not 1 <= old_size <= size:
        raise ProofError(f"{old_size} entries of {size}")
    if _extend(_sized(proof), 0, size, old_size, old_root) != (old_root, root):
        raise ProofError("the consistency proof does not lead from the one root to the other")


def _sized(proof: Sequence[bytes]) -> Sequence[bytes]:
    for part in proof:
        if len(part) != HASH_SIZE:
            raise ProofError(f"a hash of {len(part)} bytes")
    return proof


def _split(low: int, high: int) -> int:
    """Where the tree over the leaves from low to high divides: behind the largest power of two that leaves something."""
    return low + (1 << ((high - low - 1).bit_length() - 1))


def _climb(proof: Sequence[bytes], low: int, high: int, index: int, leaf: bytes) -> bytes:
    """Computes the hash of a subtree from a leaf in it."""
    if low + 1 == high:
        if proof:
            raise ProofError("the proof is too long")
        return leaf
    if not proof:
        raise ProofError("the proof is too short")
    middle = _split(low, high)
    if index < middle:
        return node_hash(_climb(proof[:-1], low, middle, index, leaf), proof[-1])
    return node_hash(proof[-1], _climb(proof[:-1], middle, high, index, leaf))


def _extend(proof: Sequence[bytes], low: int, high: int, old_size: int, old_root: bytes) -> tuple[bytes, bytes]:
    """Computes the hashes of the older tree and of the newer one, as far as they reach into a subtree."""
    if old_size == high:
        if len(proof) != (0 if low == 0 else 1):
            raise ProofError("the proof has another length")
        shared = old_root if low == 0 else proof[0]
        return shared, shared
    if not proof:
        raise ProofError("the proof is too short")
    middle = _split(low, high)
    if old_size <= middle:
        old, new = _extend(proof[:-1], low, middle, old_size, old_root)
        return old, node_hash(new, proof[-1])
    old, new = _extend(proof[:-1], middle, high, old_size, old_root)
    return node_hash(proof[-1], old), node_hash(proof[-1], new)
