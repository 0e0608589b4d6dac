package adopt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
)

// maxFileBytes bounds a source's file, and what a compressed body may grow to.
const maxFileBytes = 64 << 20

// reader gathers what is found.
type reader struct {
	root   string
	format Format
	out    *Found
}

// Read finds the recorded answers of a file, or of all files below a directory but for hidden ones. The error is for a source that
// cannot be read at all; a file that cannot be understood is skipped, and named.
func Read(source string, format Format) (*Found, error) {
	if !slices.Contains(Formats(), format) {
		return nil, fmt.Errorf("%.40q is none of the formats %v", format, Formats())
	}
	info, err := os.Stat(source)
	if err != nil {
		return nil, err
	}
	r := &reader{root: source, format: format, out: &Found{}}
	if !info.IsDir() {
		r.root = filepath.Dir(source)
		r.file(filepath.Base(source))
		return r.out, nil
	}
	return r.out, filepath.WalkDir(source, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if file != source && strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(source, file)
		if err == nil {
			r.file(filepath.ToSlash(rel))
		}
		return err
	})
}

// promptExtensions are those of a prompt beside an answer, in the order in which they are looked for.
var promptExtensions = []string{".md", ".txt", ".prompt"}

func (r *reader) skip(file string, position int, format string, args ...any) {
	r.out.Skipped = append(r.out.Skipped, Skip{Where: where(file, position), Why: fmt.Sprintf(format, args...)})
}

func (r *reader) warn(format string, args ...any) {
	r.out.Warnings = append(r.out.Warnings, fmt.Sprintf(format, args...))
}

// file reads one file.
func (r *reader) file(file string) {
	extension := strings.ToLower(path.Ext(file))
	switch {
	case slices.Contains(promptExtensions, extension):
		if _, err := os.Lstat(r.path(strings.TrimSuffix(file, path.Ext(file)) + ".json")); err != nil {
			r.skip(file, 0, "there is no answer beside it")
		}
		return
	case extension != ".json" && extension != ".yaml" && extension != ".yml":
		r.skip(file, 0, "neither JSON nor YAML, by its name")
		return
	}
	src, made, err := r.load(file)
	if err != nil {
		r.skip(file, 0, "%v", err)
		return
	}
	var doc any
	if extension == ".json" {
		doc, err = decodeJSON(src)
	} else {
		doc, err = decodeYAML(src)
	}
	if err != nil {
		r.skip(file, 0, "%v", err)
		return
	}
	format := r.format
	if format == Auto {
		format = sniff(doc, extension)
	}
	switch {
	case extension != ".json" && format != VCR: // aliases make a value of a few bytes endless; of a cassette only texts are taken
		r.skip(file, 0, "YAML is read as a cassette alone")
	case format == VCR:
		r.cassette(file, doc, made)
	case format == Promptfoo:
		r.promptfoo(file, doc, made)
	default:
		r.plain(file, doc, made)
	}
}

func (r *reader) path(file string) string { return filepath.Join(r.root, filepath.FromSlash(file)) }

// load reads a file that no link leads to, and says when it was last written.
func (r *reader) load(file string) ([]byte, time.Time, error) {
	info, err := os.Lstat(r.path(file))
	if err != nil {
		return nil, time.Time{}, errors.New("it cannot be read")
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, time.Time{}, errors.New("it is no regular file")
	case info.Size() > maxFileBytes:
		return nil, time.Time{}, fmt.Errorf("it has %d bytes, over the limit of %d", info.Size(), maxFileBytes)
	}
	src, err := os.ReadFile(r.path(file))
	return src, info.ModTime().UTC().Truncate(time.Second), err
}

// sniff says what a document is: by the members that only one format has, and else by its name.
func sniff(doc any, extension string) Format {
	switch {
	case at(doc, "http_interactions") != nil, at(doc, "interactions") != nil:
		return VCR
	case extension != ".json":
		return VCR
	case at(doc, "results", "results") != nil:
		return Promptfoo
	}
	return JSON
}

// decodeJSON reads JSON, numbers by their literal.
func decodeJSON(src []byte) (doc any, err error) {
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("no JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("no JSON: something stands behind the document")
	}
	return doc, nil
}

// add takes a pair, its value as a document. made is when its file was last written, and is used where RecordedAt is zero.
func (r *reader) add(p Pair, value any, made time.Time) {
	src, err := json.Marshal(value)
	if err == nil {
		p.Value, err = fixture.Canonicalize(nil, src)
	}
	switch {
	case err != nil:
		r.skip(p.File, p.Position, "the answer is no value that a stub can have: %v", err)
		return
	case value == nil:
		r.skip(p.File, p.Position, "there is no answer in it")
		return
	case strings.TrimSpace(p.Prompt) == "":
		r.skip(p.File, p.Position, "there is no prompt in it")
		return
	}
	p.Prompt = strings.ToValidUTF8(p.Prompt, "\uFFFD")
	if _, err := stub.ReadPrompt([]byte(p.Prompt)); err != nil {
		r.skip(p.File, p.Position, "%v", err)
		return
	}
	if p.RecordedAt.IsZero() {
		p.RecordedAt, p.FileTime = made, true
	}
	p.ID = identify(p.File, p.Position)
	if len(p.ID) > fixture.MaxIDBytes {
		r.skip(p.File, p.Position, "its name is too long for an id")
		return
	}
	if i := slices.IndexFunc(r.out.Pairs, func(q Pair) bool { return strings.EqualFold(q.ID, p.ID) }); i >= 0 {
		r.skip(p.File, p.Position, "its id would be %s, as that of %s: give one of the files another name", p.ID, r.out.Pairs[i].Where())
		return
	}
	r.out.Pairs = append(r.out.Pairs, p)
}

// identify makes an id, which is the name of files too: letters, digits, dots, dashes and underscores.
func identify(file string, position int) string {
	parts := strings.Split(strings.TrimSuffix(file, path.Ext(file)), "/")
	for i, part := range parts {
		parts[i] = strings.TrimLeft(strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-", r) {
				return r
			}
			return '-'
		}, part), ".")
		if parts[i] == "" {
			parts[i] = "-"
		}
	}
	id := strings.Join(parts, "/")
	if position > 0 {
		id += fmt.Sprintf(".%d", position)
	}
	return id
}
