package conformance

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
)

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Seconds string        `xml:"time,attr"`
	Failure *junitMessage `xml:"failure,omitempty"`
	Skipped *junitMessage `xml:"skipped,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
}

// WriteJUnit writes the report as CI systems read it: a suite for each level. It fails exactly where the demanded level is not reached:
// up to there a case in which nothing was observed is a failure like any other, and behind it a failure is told as skipped.
// An error for a level that there is not.
func (r *Report) WriteJUnit(w io.Writer, demanded Level) error {
	last := slices.Index(Levels(), demanded)
	if last < 0 {
		return fmt.Errorf("there is no level %q", demanded)
	}
	var out junitSuites
	for i, level := range Levels() {
		out.Suites = append(out.Suites, r.junitSuite(level, i <= last))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (r *Report) junitSuite(level Level, demanded bool) junitSuite {
	s := junitSuite{Name: string(level)}
	add := func(name string, seconds float64, status Status, message string) {
		c := junitCase{Class: r.Checker, Name: name, Seconds: fmt.Sprintf("%.3f", seconds)}
		switch {
		case status == Passed:
		case status == Inapplicable, !demanded:
			c.Skipped = &junitMessage{string(status) + ": " + message}
			s.Skipped++
		default:
			c.Failure = &junitMessage{string(status) + ": " + message}
			s.Failures++
		}
		s.Cases = append(s.Cases, c)
		s.Tests++
	}
	for _, x := range r.Results {
		if x.Level == level {
			add(x.Case, x.Took.Seconds(), x.Status, x.Message)
		}
	}
	if r.Count(level, Passed) == 0 {
		add("anything-at-all", 0, Unobserved, "no case of this level has passed")
	}
	return s
}
