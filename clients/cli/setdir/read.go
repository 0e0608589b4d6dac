package setdir

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/stub"
)

// place says where a document stands.
type place struct {
	file string
	line int // counts from 1
}

func (p place) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

func (p place) compare(q place) int {
	return cmp.Or(strings.Compare(p.file, q.file), cmp.Compare(p.line, q.line))
}

// entry is one fixture: its text is kept, or found again in its file.
type entry struct {
	id       string
	digest   fixture.Digest
	place    place
	doc      []byte // nil for a line of a JSON Lines file
	from, to int64  // where that line stands
}

// maxProblems bounds what is reported at once.
const maxProblems = 20

// problems collects errors. Not safe for concurrent use.
type problems struct {
	list []error
	more int
}

func (p *problems) add(err error) {
	if err == nil {
		return
	}
	if len(p.list) == maxProblems {
		p.more++
		return
	}
	p.list = append(p.list, err)
}

func (p *problems) err() error {
	if p.more > 0 {
		return errors.Join(append(p.list, fmt.Errorf("and %d more", p.more))...)
	}
	return errors.Join(p.list...)
}

// document is one document of a file.
type document struct {
	src      []byte // as it stands in the file
	line     int
	from, to int64
	keep     bool // src must be kept: it cannot be found again by from and to
}

// readFixtures reads every file below fixtures/, and decodes on as many processors as there are.
func (s *Set) readFixtures(p *problems) {
	files, err := s.files(fixturesDir)
	if err != nil {
		p.add(err)
		return
	}
	for _, file := range files {
		p.add(split(file, func(documents []document) { s.addFixtures(p, file, documents) }))
	}
}

func (s *Set) addFixtures(p *problems, file string, documents []document) {
	fixtures := make([]*fixture.Fixture, len(documents))
	entries := make([]entry, len(documents))
	errs := make([]error, len(documents))
	parallel(len(documents), func(i int) {
		d := documents[i]
		f, err := fixture.Decode(d.src)
		if err == nil {
			if err = s.Beside.Vocabulary.Check(f.Expected); err != nil {
				err = fixture.NewError(fixture.CodeInvalid, "", f.ID, err)
			}
		}
		if err != nil {
			errs[i] = locate(file, d.src, d.line, err)
			return
		}
		entries[i] = entry{id: f.ID, digest: f.Digest(), place: place{file, d.line}, from: d.from, to: d.to}
		if d.keep {
			entries[i].doc = f.Canonical()
		}
		fixtures[i] = brief(f)
	})
	for i, f := range fixtures {
		if errs[i] != nil {
			p.add(errs[i])
			continue
		}
		p.add(s.Tally.Add(f))
		s.entries = append(s.entries, entries[i])
	}
}

// brief keeps of a fixture what a tally needs.
func brief(f *fixture.Fixture) *fixture.Fixture {
	return &fixture.Fixture{ID: f.ID, Group: f.Group, Expected: fixture.Outcome{Verdict: f.Expected.Verdict, ReasonCode: f.Expected.ReasonCode}}
}

// readStubs reads every file below stubs/.
func (s *Set) readStubs(p *problems) {
	files, err := s.files(stubsDir)
	if err != nil {
		p.add(err)
		return
	}
	for _, file := range files {
		if s.isManifest(file) {
			continue
		}
		p.add(split(file, func(documents []document) {
			for _, d := range documents {
				st, err := stub.Decode(d.src)
				if err != nil {
					p.add(locate(file, d.src, d.line, err))
					continue
				}
				s.stubs[st.FixtureID] = append(s.stubs[st.FixtureID], st)
			}
		}))
	}
}

// parallel calls fn for 0 to n-1, in runs, on as many goroutines as there are processors.
func parallel(n int, fn func(i int)) {
	workers := runtime.GOMAXPROCS(0)
	const run = 256
	if n <= run || workers == 1 {
		for i := range n {
			fn(i)
		}
		return
	}
	var wg sync.WaitGroup
	next := make(chan int)
	for range workers {
		wg.Go(func() {
			for from := range next {
				for i := from; i < min(from+run, n); i++ {
					fn(i)
				}
			}
		})
	}
	for from := 0; from < n; from += run {
		next <- from
	}
	close(next)
	wg.Wait()
}

var byteOrderMark = []byte("\xEF\xBB\xBF")

// split cuts a file into its documents: the lines of a .jsonl file, or the document or the elements of the array that a
// .json file holds. It hands them to fn in their order, a .jsonl file in parts, whose bytes are fn's until it returns.
func split(file string, fn func([]document)) error {
	if filepath.Ext(file) == ".jsonl" {
		return splitLines(file, fn)
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return fixture.NewError(fixture.CodeInvalid, "", file, err)
	}
	if err := noMark(file, src); err != nil {
		return err
	}
	trimmed := bytes.TrimLeft(src, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '[' {
		fn([]document{{src: src, line: 1, keep: true}})
		return nil
	}
	var out []document
	line, at := 1, 0
	err = fixture.Elements(src, func(offset int, canonical []byte) error {
		line, at = line+bytes.Count(src[at:offset], []byte{'\n'}), offset
		out = append(out, document{src: canonical, line: line, keep: true})
		return nil
	})
	if err != nil {
		return locate(file, src, 1, fixture.NewError(fixture.CodeInvalid, "", "", err))
	}
	fn(out)
	return nil
}

func noMark(file string, src []byte) error {
	if bytes.HasPrefix(src, byteOrderMark) {
		return fixture.NewError(fixture.CodeInvalid, "", file+":1", errors.New("it begins with a byte order mark; save it as UTF-8 without one"))
	}
	return nil
}

// window is how much of a .jsonl file is in memory at a time, unless a line is longer.
const window = 8 << 20

// splitLines reads a file by windows of whole lines.
func splitLines(file string, fn func([]document)) error {
	f, err := os.Open(file)
	if err != nil {
		return fixture.NewError(fixture.CodeInvalid, "", file, err)
	}
	defer f.Close() // read only: there is nothing to lose
	buf := make([]byte, window)
	filled, line := 0, 1
	for at := int64(0); ; {
		n, err := io.ReadFull(f, buf[filled:])
		filled += n
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return fixture.NewError(fixture.CodeInvalid, "", file, err)
		}
		if at == 0 {
			if err := noMark(file, buf[:filled]); err != nil {
				return err
			}
		}
		whole := bytes.LastIndexByte(buf[:filled], '\n') + 1
		switch {
		case last:
			whole = filled
		case whole == 0 && filled > fixture.MaxDocumentBytes:
			return tooLong(file, line, filled)
		case whole == 0:
			buf = append(buf, make([]byte, len(buf))...)
			continue
		}
		documents, next, err := lines(file, buf[:whole], at, line)
		if err != nil {
			return err
		}
		fn(documents)
		if last {
			return nil
		}
		at, line = at+int64(whole), next
		filled = copy(buf, buf[whole:filled])
	}
}

func tooLong(file string, line, n int) error {
	return fixture.NewError(fixture.CodeInvalid, "", place{file, line}.String(), fmt.Errorf("the line has %d bytes, over the limit of %d", n, fixture.MaxDocumentBytes))
}

// lines cuts src, which stands at base in its file and begins with a line of that number. It gives the number of the line
// behind it.
func lines(file string, src []byte, base int64, line int) ([]document, int, error) {
	out := make([]document, 0, bytes.Count(src, []byte{'\n'})+1)
	for at := 0; at < len(src); line++ {
		end := bytes.IndexByte(src[at:], '\n')
		if end < 0 {
			end = len(src) - at
		}
		text := src[at : at+end]
		if len(bytes.TrimSpace(text)) > 0 {
			if len(text) > fixture.MaxDocumentBytes {
				return nil, line, tooLong(file, line, len(text))
			}
			out = append(out, document{src: text, line: line, from: base + int64(at), to: base + int64(at+end)})
		}
		at += end + 1
	}
	return out, line, nil
}

// locate puts file and line in front of an error about a document that begins at a line.
func locate(file string, src []byte, line int, err error) error {
	var syntax *fixture.SyntaxError
	if errors.As(err, &syntax) && syntax.Offset <= len(src) {
		line += bytes.Count(src[:syntax.Offset], []byte{'\n'})
	}
	return fixture.NewError(fixture.CodeInvalid, "", place{file, line}.String(), err)
}
