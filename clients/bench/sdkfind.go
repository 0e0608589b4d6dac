package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const languageGo = "Go"

// sdk is one SDK's promotion checker: what starts it, or why there is none.
type sdk struct {
	language string
	command  []string
	missing  error
}

// found are the SDKs of a checkout, with Go's as the first.
type found struct {
	root string
	sdks []sdk
}

// source says how a language's checker is built and started; paths are relative to the SDK's directory.
type source struct {
	language string
	dir      string
	tools    []string   // that build it
	build    [][]string // in dir
	runs     string     // what runs it, in PATH or below dir; empty where file is a program
	args     []string
	files    []string // the checker: the first of these that is there
	names    []string // what each of them is called, beside the language
}

var sources = []source{
	{
		language: "Python", dir: "clients/python", tools: []string{"make", "python3"}, build: [][]string{{"make", "-C", "../..", "clients/python/.venv/installed"}},
		runs: ".venv/bin/python", files: []string{"examples/promotion.py"},
	},
	{
		language: "TypeScript", dir: "clients/typescript", tools: []string{"npm"}, build: [][]string{{"npm", "ci"}, {"npm", "run", "build"}},
		runs: "node", files: []string{"dist/examples/promotion.js"},
	},
	{
		language: "Java", dir: "clients/java", tools: []string{"mvn"}, build: [][]string{{"mvn", "-q", "-B", "package", "-DskipTests"}},
		runs: "java", args: []string{"-jar"}, files: []string{"promotion/target/promotion.jar"},
	},
	{
		language: "Rust", dir: "clients/rust", tools: []string{"cargo"}, build: [][]string{{"cargo", "build", "-q", "--release", "--locked"}},
		files: []string{"target/release/promotion", "target/debug/promotion"}, names: []string{"", " (not optimised)"},
	},
}

// findSDKs looks for the checkers, and builds them first where that is asked for. What is not there is named and no error.
func (b *bench) findSDKs(ctx context.Context) (*found, error) {
	out, err := command(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/retrial-dev/retrial").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w (the benchmark runs in the repository)", err)
	}
	all := &found{root: strings.TrimSpace(string(out))}
	all.sdks = append(all.sdks, sdk{language: languageGo, command: []string{b.retrial(), "checker", "promotion"}})
	for _, s := range sources {
		dir := filepath.Join(all.root, filepath.FromSlash(s.dir))
		if b.make {
			if err := s.make(ctx, dir); err != nil {
				all.sdks = append(all.sdks, sdk{language: s.language, missing: err})
				continue
			}
		}
		all.sdks = append(all.sdks, s.find(dir))
	}
	return all, ctx.Err()
}

func (s source) make(ctx context.Context, dir string) error {
	for _, tool := range s.tools {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is not installed", tool)
		}
	}
	for _, line := range s.build {
		fmt.Fprintf(os.Stderr, "bench: %s: %s\n", s.language, strings.Join(line, " "))
		cmd := command(ctx, line[0], line[1:]...)
		cmd.Dir = dir
		if err := cmd.Run(); err != nil {
			return said(cmd, err)
		}
	}
	return nil
}

// find gives the command of what there is.
func (s source) find(dir string) sdk {
	out := sdk{language: s.language}
	for i, file := range s.files {
		path := filepath.Join(dir, filepath.FromSlash(file))
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if s.names != nil {
			out.language += s.names[i]
		}
		out.command = append(append([]string{}, s.args...), path)
		break
	}
	if out.command == nil {
		out.missing = fmt.Errorf("there is no %s/%s; -build makes it", s.dir, s.files[0])
		return out
	}
	if s.runs == "" {
		return out
	}
	runs := s.runs
	if filepath.Base(runs) != runs {
		runs = filepath.Join(dir, filepath.FromSlash(runs))
	}
	program, err := exec.LookPath(runs)
	if err != nil {
		out.missing = fmt.Errorf("there is no %s", s.runs)
	}
	out.command = append([]string{program}, out.command...)
	return out
}

// lacking says which are not measured: an error if all were to be, or if it is Go's, which the others are compared with.
func (f *found) lacking(strict bool) error {
	var errs []error
	for _, s := range f.sdks {
		if s.missing == nil {
			continue
		}
		err := fmt.Errorf("%s is not measured: %w", s.language, s.missing)
		if strict || s.language == languageGo {
			errs = append(errs, err)
		} else {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}
	return errors.Join(errs...)
}
