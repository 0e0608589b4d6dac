package server

import (
	"errors"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// maxHeavy bounds the calls under way that read the whole of a set, or of the store.
const maxHeavy = 2

// heavy has a place for each of them.
type heavy chan struct{}

func newHeavy() heavy { return make(heavy, maxHeavy) }

// enter takes a place, which leave gives back. CodeBusy if there is none.
func (h heavy) enter(what string) error {
	select {
	case h <- struct{}{}:
		return nil
	default:
		return fixture.NewError(fixture.CodeBusy, what, "", errors.New("others read as much at this moment; try again later"))
	}
}

func (h heavy) leave() { <-h }
