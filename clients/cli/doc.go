// Package cli is the command line: a client of the service, which it carries in itself where no server is named.
//
// It promises one code path (the embedded server is spoken to over gRPC as well), one exit status for each way a run can
// end, findings on stdout and everything else on stderr. It never exits by itself: Main returns the status.
package cli
