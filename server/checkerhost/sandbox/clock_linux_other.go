//go:build linux && !amd64

package sandbox

const hasTimeCall = false

func isTimeCall(int) bool { return false }
