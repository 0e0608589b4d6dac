package cli_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/retrial-dev/retrial/clients/cli"
)

// The command line by scripts: testdata/script/*.txtar, each with its input and what it must print.
func TestScripts(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("EXAMPLES", examples)
			env.Setenv("RETRIAL_AUTHOR", "ada")
			env.Setenv("HOME", env.WorkDir)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     exits,
			"healthy":   healthy,
			"certs":     certs,
			"fetch":     fetch,
			"instances": instances,
			"scrub":     scrub,
			"append":    appendTo,
			"flip":      flipBit,
			"cut":       cut,
			"forge":     forge,
			"leak":      leak,
			"soon":      soon,
			"attest":    attestTo,
			"model":     model,
			"asked":     asked,
			"keyless":   keyless,
		},
	})
}

func retrialMain() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr)) }

// exits STATUS COMMAND…: the command must end with this status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// healthy ADDRESS [FLAGS…]: waits until a server answers there.
func healthy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: healthy ADDRESS [FLAGS…]")
	}
	deadline := time.Now().Add(2 * time.Minute)
	for ts.Exec("retrial", append([]string{"health", "--timeout", "1s", "--server"}, args...)...) != nil {
		if time.Now().After(deadline) {
			ts.Fatalf("no server answers at %s", args[0])
		}
	}
}

// instances N NAME ADDRESS [FLAGS…]: waits until so many instances of a name stand in a server's registry.
func instances(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: instances N NAME ADDRESS [FLAGS…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	deadline := time.Now().Add(2 * time.Minute)
	for {
		ts.Check(ts.Exec("retrial", append([]string{"checkers", "list", "-q", "--server"}, args[2:]...)...))
		if n := len(regexp.MustCompile(`(?m)^`+args[1]+` .* i-`).FindAllString(ts.ReadFile("stdout"), -1)); n == want {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("there are not %d instances of %s:\n%s", want, args[1], ts.ReadFile("stdout"))
		}
	}
}

// fetch STATUS SOCKET PATH FILE: waits until an HTTP server at a unix socket answers with this status, and writes what it
// says to a file.
func fetch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: fetch STATUS SOCKET PATH FILE")
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", ts.MkAbs(args[1]))
	}}}
	got := ""
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		res, err := client.Get("http://retrial" + args[2])
		if err != nil {
			got = err.Error()
			continue
		}
		body, err := io.ReadAll(res.Body)
		ts.Check(errors.Join(err, res.Body.Close()))
		if got = res.Status; strconv.Itoa(res.StatusCode) == args[0] {
			ts.Check(os.WriteFile(ts.MkAbs(args[3]), body, 0o600))
			return
		}
	}
	ts.Fatalf("%s of %s: %s, want %s", args[2], args[1], got, args[0])
}

var scrubbed = []struct {
	form *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`\br-[a-z2-7]{16}\b`), "r-ID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`(?m) build \S+$`), ""},
	{regexp.MustCompile(`(?m)^(sandbox    )(strict|network \(.*\)|off \(.*\))$`), "${1}LEVEL"}, // as the platform has it
}

// scrub FILE: writes the last standard output to a file, without what is another in every run.
func scrub(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: scrub FILE")
	}
	out := ts.ReadFile("stdout")
	for _, s := range scrubbed {
		out = s.form.ReplaceAllString(out, s.by)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(out), 0o600))
}

// append FILE TEXT: adds text to a file; \n, \r and \x00 are escapes.
func appendTo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: append FILE TEXT")
	}
	text, err := strconv.Unquote(`"` + regexp.MustCompile(`"`).ReplaceAllString(args[1], `\"`) + `"`)
	ts.Check(err)
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	ts.Check(err)
	_, err = f.WriteString(text)
	ts.Check(errors.Join(err, f.Close()))
}

// flip FILE TEXT: flips one bit wherever a text stands in a file: freed pages hold old copies.
func flipBit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: flip FILE TEXT")
	}
	file := ts.MkAbs(args[0])
	b, err := os.ReadFile(file)
	ts.Check(err)
	found := regexp.MustCompile(regexp.QuoteMeta(args[1])).FindAllIndex(b, -1)
	if len(found) == 0 {
		ts.Fatalf("%q does not stand in %s", args[1], args[0])
	}
	for _, at := range found {
		b[at[0]] ^= 1
	}
	ts.Check(os.WriteFile(file, b, 0o600))
}

// cut FILE BYTES: takes bytes from the end of a file.
func cut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cut FILE BYTES")
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), info.Size()-n))
}

// soon NAME: sets a variable to the instant of ten days from now.
func soon(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: soon NAME")
	}
	ts.Setenv(args[0], time.Now().Add(240*time.Hour).UTC().Format(time.RFC3339))
}
