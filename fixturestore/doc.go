// Package fixturestore keeps fixture sets, their immutable versions, and the decisions of the gate, in one bbolt file.
//
// It promises that a published version is whole, never changes, and reads back as it was written or not at all: every
// node, fixture, stub and record is hashed, and the hash is compared on every read. It promises that nothing of a
// version is visible before all of it is durable, and that no transaction is open while a caller does anything.
//
// It refuses a changed expectation without a reason (R18), a removal without one, and a commit on a parent that is not
// the newest. A damaged file is an error that says what is damaged.
package fixturestore
