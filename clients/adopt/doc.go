// Package adopt makes recordings of the answers that other tools have recorded (S15): JSON files with a prompt beside them or in them,
// cassettes of go-vcr, VCR for Ruby and VCR.py, and results of promptfoo.
//
// Reading never changes a source, and takes nothing for an answer that is none: what it does not understand is named, with the reason.
// Headers are never copied, and no value of one is ever in a message. A plan is made before anything is written; it never replaces a
// recording that is there.
package adopt

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Format says how a source is read.
type Format string

// The formats. Auto takes each file for what it has in it.
const (
	Auto      Format = "auto"
	JSON      Format = "json"
	VCR       Format = "vcr"
	Promptfoo Format = "promptfoo"
)

// Formats lists every format.
func Formats() []Format { return []Format{Auto, JSON, VCR, Promptfoo} }

// Pair is a prompt and what a model answered to it.
type Pair struct {
	// ID is made of the file's name and the position in it, and of nothing else: the same source gives the same ids.
	ID string
	// File is the source's file, relative and with slashes; Position counts from 1 in a file that can hold several, and is 0 else.
	File     string
	Position int
	// Prompt is the text that was asked, Extension that of its file, such as ".md".
	Prompt, Extension string
	// Value is the answer as canonical JSON.
	Value []byte
	// Model is empty where the source does not say it.
	Model string
	// RecordedAt is when the answer was given, or last written where FileTime says that the source has no such instant.
	RecordedAt time.Time
	FileTime   bool
	// Vars are the members beside the answer that may say which fixture it belongs to.
	Vars map[string]string
}

// Where names a place: a file, and a position in it.
func (p Pair) Where() string { return where(p.File, p.Position) }

func where(file string, position int) string {
	if position == 0 {
		return file
	}
	return fmt.Sprintf("%s #%d", file, position)
}

// Skip is something that was not taken, and why.
type Skip struct {
	Where string `json:"where"`
	ID    string `json:"id,omitempty"`
	Why   string `json:"why"`
}

// Found is what a source has, in the order of its files.
type Found struct {
	Pairs    []Pair
	Skipped  []Skip
	Warnings []string
}

// text gives a string, or an empty one.
func text(v any) string {
	s, _ := v.(string)
	return s
}

// at goes down through objects. What is not there is nil.
func at(v any, path ...string) any {
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

// first gives the first of an object's members that is there, by these names.
func first(v any, names ...string) any {
	for _, name := range names {
		if found := at(v, name); found != nil {
			return found
		}
	}
	return nil
}

// dated reads the first instant that is there. It is zero where none is; one that cannot be read is an error, since the time of a file
// in its place would make an old answer look new.
func dated(instants ...any) (time.Time, error) {
	for _, v := range instants {
		if v == nil || v == "" {
			continue
		}
		t, ok := instant(v)
		if !ok {
			return t, errors.New("its instant cannot be read: write it as 2026-02-14T09:12:00Z, or as seconds since 1970")
		}
		return t, nil
	}
	return time.Time{}, nil
}

// Milliseconds since 1970 that can be nothing else, from 2001 to 9999: as seconds they lie behind the year 9999.
const (
	firstMillisecond = 1_000_000_000_000
	lastMillisecond  = 253_402_300_799_999
)

// instant reads an instant in one of the forms that cassettes have: RFC 3339, that of HTTP, or seconds or milliseconds since 1970.
func instant(v any) (time.Time, bool) {
	switch v := v.(type) {
	case time.Time:
		return v.UTC(), true
	case uint64:
		return since1970(int64(min(v, lastMillisecond+1)))
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return since1970(n)
		}
	case string:
		for _, form := range []string{time.RFC3339, time.RFC1123, time.RFC1123Z, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700"} {
			if t, err := time.Parse(form, v); err == nil && t.UTC().Year() > 0 && t.UTC().Year() < 10_000 {
				return t.UTC(), true
			}
		}
	}
	return time.Time{}, false
}

func since1970(n int64) (time.Time, bool) {
	switch {
	case n > 0 && n < 1<<37:
		return time.Unix(n, 0).UTC(), true
	case n >= firstMillisecond && n <= lastMillisecond:
		return time.UnixMilli(n).UTC(), true
	}
	return time.Time{}, false
}
