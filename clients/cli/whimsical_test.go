package cli_test

import (
	"context"
	"os"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// whimsical is a checker for scripts: "keep" below 5, "drop" from there on. Over 3 it is wrong in two processes of four, by the
// length of the file WHIM_FILE, and always with the parameter wrong; without the file it is steady.
type whimsical struct{ whim bool }

func whimsicalMain() {
	file := os.Getenv("WHIM_FILE")
	if file == "" {
		os.Exit(retrial.Serve(whimsical{}))
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	if _, err := f.Write([]byte{'.'}); err != nil {
		panic(err)
	}
	info, err := f.Stat()
	if err != nil {
		panic(err)
	}
	os.Exit(retrial.Serve(whimsical{whim: (info.Size()-1)/2%2 == 0}))
}

// Describe implements retrial.Checker.
func (whimsical) Describe() retrial.Description {
	return retrial.Description{Name: "whimsical", Version: "1", BuildDigest: "whim-1", Parameters: []retrial.Parameter{{Name: "wrong", Default: false}}}
}

// Check implements retrial.Checker.
func (w whimsical) Check(_ context.Context, c *retrial.Case) (retrial.Outcome, error) {
	if os.Getenv("WHIM_CRASH") != "" {
		os.Exit(7)
	}
	n, err := retrial.Member[int](c, "n")
	if err != nil {
		return retrial.Outcome{}, err
	}
	if off := w.whim || c.Bool("wrong"); n < 5 && (n != 3 || !off) {
		return retrial.Outcome{Verdict: "keep"}, nil
	}
	return retrial.Outcome{Verdict: "drop"}, nil
}
