package replayer

import (
	"fmt"

	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/replayer/gate"
)

// fileLosses says which instances a pass has lost, whatever it came to.
func fileLosses(p *pass, group fixture.Group, file func(gate.Finding) error) error {
	s, ok := p.checker.(Sharer)
	if !ok {
		return nil
	}
	for _, l := range s.Losses() {
		told := "it had nothing left to answer"
		if l.To != "" {
			told = fmt.Sprintf("%d cases that it had not answered were given to instance %s", l.Cases, l.To)
		}
		f := gate.Finding{Code: gate.InstanceLost, Role: p.role, Subject: l.Instance, Group: group,
			Message: fmt.Sprintf("%s: the connection to this instance was lost; %s", p.name(), told)}
		if err := file(f); err != nil {
			return err
		}
	}
	return nil
}
