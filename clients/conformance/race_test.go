//go:build race

package conformance_test

// slowdown is how many times as slow the detector makes everything, which is no fault of a checker.
const slowdown = 5
