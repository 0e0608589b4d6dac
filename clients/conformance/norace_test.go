//go:build !race

package conformance_test

const slowdown = 1
