package setdir

import (
	"os"
	"path/filepath"
	"regexp"

	"github.com/retrial-dev/retrial/internal/durable"
	"github.com/retrial-dev/retrial/replayer/fixture"
)

var (
	checksumLine = regexp.MustCompile(`(?m)^checksum:[^\n#]*?([ \t]*(?:#[^\n]*)?\r?)$`)
	schemaLine   = regexp.MustCompile(`(?m)^schema:[^\n]*\n`)
)

// WriteChecksum states the set's checksum in retrial.yaml: in the line that is there, or in one of its own behind the
// schema's. Everything else of the file stays as it is.
func (s *Set) WriteChecksum() error {
	file := filepath.Join(s.Dir, ConfigFile)
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	line := "checksum: " + s.Checksum
	switch at := schemaLine.FindIndex(b); {
	case checksumLine.Match(b):
		b = checksumLine.ReplaceAll(b, []byte(line+"$1"))
	case at != nil:
		b = append(b[:at[1]:at[1]], append([]byte(line+"\n"), b[at[1]:]...)...)
	default:
		b = append(b, []byte("\n"+line+"\n")...)
	}
	if err := durable.ReplaceFile(file, b); err != nil {
		return fixture.NewError(fixture.CodeUnavailable, "write checksum to", file, err)
	}
	s.Config.Checksum = s.Checksum
	return nil
}
