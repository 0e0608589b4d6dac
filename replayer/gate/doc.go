// Package gate rules: findings and a policy in, a decision out. It is the only place that does.
//
// It promises that a ruling is a pure function of what was found, that a finding more never turns a block into a pass,
// and that what was not looked at blocks: an empty set, a fixture without an answer, a run that was cut. It reads no
// clock; whoever asks gives the instant.
package gate
