// Package replayer runs a replay: it tries past decisions again, against the checker as released and as proposed.
//
// It promises that every selected fixture is asked of the baseline, of the candidate and of the candidate once more, or
// that the run says which was not; that flips are told in ascending order of fixture ids, and none before the baseline
// has confirmed all of them; that memory does not grow with the number of fixtures but for eight bytes each; and that
// no goroutine outlives Run. It reads no clock and no randomness: the caller gives the instant and the seed.
//
// It knows no transport. A checker is an interface here, and the server gives it one.
package replayer
