// Package attest makes of a decision an attestation that can be verified without the server, and verifies one.
//
// An attestation is an in-toto Statement v1 with the predicate https://in-toto.io/attestation/test-result/v0.1 in a DSSE
// envelope, signed with the server's key. Its subject is what was released, by digest; its configuration is what the ruling
// rests on, by digest.
//
// It promises that the same decision gives the same bytes, that a statement which says PASSED or WARNED was a pass when it
// was signed, and that Verify gives nothing of an envelope that a given key did not sign as it stands. It refuses to attest
// what has no digest, what has no standing, and what contradicts itself: before signing, and again when verifying.
package attest
