package sandbox

import "golang.org/x/sys/unix"

const hasTimeCall = true

func isTimeCall(call int) bool { return call == unix.SYS_TIME }
