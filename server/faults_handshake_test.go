//go:build linux

package server_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/retrial-dev/retrial/clients/retrial"
)

// starts are the modes that go wrong before or in the handshake, by name, and those that are no checker at all. What each
// gives is the exit status.
var starts = map[string]func(process) int{
	"sleeper": func(process) int {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		return forEver()
	},
	"exits-at-start": func(process) int {
		fmt.Fprintln(os.Stderr, "cannot read rules.yaml: \x1b[31mno such file\x1b[0m")
		return 7
	},
	"exits-silently": func(process) int { return 0 },
	"stdout-before": func(p process) int {
		fmt.Println("loading rules\x1b[2J … done")
		return p.serveRight("")
	},
	"stdout-with-bars": func(p process) int {
		fmt.Println("rules | loaded | at | start | of | day")
		return p.serveRight("")
	},
	"stdout-100-KB": func(p process) int {
		fmt.Print(strings.Repeat("x", 100<<10))
		return p.serveRight("")
	},
	"stdout-then-exits": func(process) int {
		fmt.Print("usage: checker FILE")
		return 64
	},
	"tells-and-never-shakes-hands": func(p process) int {
		p.tell()
		return forEver()
	},
	"socket-elsewhere": func(p process) int {
		path := fmt.Sprintf("%s-%d", p.args[0], os.Getpid())
		l, err := net.Listen("unix", path)
		if err != nil {
			panic(err)
		}
		shakeHands(path)
		return serveRaw(p, l, behaviours["right"])
	},
	"socket-by-dots": func(p process) int {
		return p.claims("1|1|unix|" + os.Getenv("PLUGIN_UNIX_SOCKET_DIR") + "/../../elsewhere|grpc")
	},
	"tcp": func(p process) int {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		fmt.Printf("1|1|tcp|%s|grpc\n", l.Addr())
		return serveRaw(p, l, behaviours["right"])
	},
	"core-protocol-2": func(p process) int { return p.claims("2|1|unix|" + p.socket() + "|grpc") },
	"contract-9-by-handshake": func(p process) int {
		return p.claims("1|9|unix|" + p.socket() + "|grpc")
	},
	"net-rpc":     func(p process) int { return p.claims("1|1|unix|" + p.socket() + "|netrpc") },
	"no-listener": func(p process) int { return p.claims("1|1|unix|" + p.socket() + "|grpc") },
	"certificate": func(p process) int { return p.serveRight("|" + strings.Repeat("QUJD", 300)) },
	"certificate-and-no-listener": func(p process) int {
		return p.claims("1|1|unix|" + p.socket() + "|grpc|" + strings.Repeat("QUJD", 300) + "|true")
	},
	"exits-after-handshake": func(p process) int {
		shakeHands(p.socket())
		fmt.Fprintln(os.Stderr, "changed my mind")
		return 9
	},
	"no-gRPC": func(p process) int {
		l, err := p.listen()
		if err != nil {
			panic(err)
		}
		shakeHands(l.Addr().String())
		for {
			conn, err := l.Accept()
			if err != nil {
				panic(err)
			}
			_, _ = conn.Write([]byte("220 mail.example.org ESMTP\r\n"))
		}
	},
}

func forEver() int {
	<-time.After(time.Hour)
	return 0
}

func (p process) socket() string { return os.Getenv("PLUGIN_UNIX_SOCKET_DIR") + "/s" }

// claims prints a handshake that is not so, and stays.
func (p process) claims(line string) int {
	fmt.Println(line)
	return forEver()
}

// serveRight keeps the contract, with more behind the handshake.
func (p process) serveRight(more string) int {
	l, err := p.listen()
	if err != nil {
		panic(err)
	}
	fmt.Printf("1|1|unix|%s|grpc%s\n", l.Addr(), more)
	return serveRaw(p, l, behaviours["right"])
}

// tell lets the test know that the checker has come to the point that it waits for.
func (p process) tell() {
	conn, err := net.Dial("unix", p.args[0])
	if err != nil {
		panic(err)
	}
	_ = conn.Close()
}

// sdkModes are checkers over the Go SDK, by name.
var sdkModes = map[string]func(n int, c *retrial.Case) (retrial.Outcome, error){
	"sdk-right": func(n int, c *retrial.Case) (retrial.Outcome, error) { return sdkRight(n), nil },
	"sdk-panics": func(n int, c *retrial.Case) (retrial.Outcome, error) {
		if n == marked {
			var rules []retrial.Outcome
			return rules[n], nil
		}
		return sdkRight(n), nil
	},
	// What a checker prints while it decides is nobody's protocol, and must not make it hang.
	"sdk-loud": func(n int, c *retrial.Case) (retrial.Outcome, error) {
		fmt.Println(strings.Repeat("on stdout ", 200))
		fmt.Fprintln(os.Stderr, strings.Repeat("on stderr ", 200))
		return sdkRight(n), nil
	},
	"sdk-exits": func(n int, c *retrial.Case) (retrial.Outcome, error) {
		if n == marked {
			fmt.Fprintln(os.Stderr, "no more memory: giving up")
			os.Exit(3)
		}
		return sdkRight(n), nil
	},
	"sdk-uses-stub": func(n int, c *retrial.Case) (retrial.Outcome, error) {
		if _, err := c.Stub("classify"); err != nil {
			return retrial.Outcome{}, err
		}
		return sdkRight(n), nil
	},
	// A missing stub decides the case, even for a checker that goes on as if nothing had been.
	"sdk-swallows-missing-stub": func(n int, c *retrial.Case) (retrial.Outcome, error) {
		if n == marked {
			_, _ = c.Stub("oracle")
		}
		return sdkRight(n), nil
	},
	"sdk-no-verdict": func(n int, c *retrial.Case) (retrial.Outcome, error) {
		if n == marked {
			return retrial.Outcome{}, nil
		}
		return sdkRight(n), nil
	},
}

func sdkRight(n int) retrial.Outcome {
	o := right(n)
	return retrial.Outcome{Verdict: o.GetVerdict(), ReasonCode: o.GetReasonCode()}
}

type sdkChecker struct {
	name  string
	check func(n int, c *retrial.Case) (retrial.Outcome, error)
}

// Describe implements retrial.Checker.
func (c sdkChecker) Describe() retrial.Description {
	return retrial.Description{Name: c.name, Version: "1"}
}

// Check implements retrial.Checker.
func (c sdkChecker) Check(_ context.Context, in *retrial.Case) (retrial.Outcome, error) {
	var input struct{ N int }
	if err := in.Decode(&input); err != nil {
		return retrial.Outcome{}, err
	}
	return c.check(input.N, in)
}

func serveSDK(name string, check func(int, *retrial.Case) (retrial.Outcome, error)) int {
	return retrial.Serve(sdkChecker{name, check})
}
