package server

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	checkerv1 "github.com/retrial-dev/retrial/gen/retrial/checker/v1"
	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"
	"github.com/retrial-dev/retrial/replayer/fixture"
	"github.com/retrial-dev/retrial/server/checkerhost"
)

// instance is one process of a checker that came by itself.
type instance struct {
	id, name  string
	address   string // empty for an attached one
	desc      *checkerv1.DescribeResponse
	broughtBy string
	since     time.Time
	host      *checkerhost.Host // of an attached one
	lease     *lease            // of a registered one; guarded by the mutex of instances, as all below

	runs  int           // that use host
	ended bool          // it is no longer listed
	idle  chan struct{} // closed once the server stops and no run uses host
}

func newInstance(name, broughtBy string, desc *checkerv1.DescribeResponse, now time.Time) *instance {
	return &instance{id: newID("i-"), name: name, desc: desc, broughtBy: broughtBy, since: now, idle: make(chan struct{})}
}

// transport says how the instance is reached.
func (in *instance) transport() registryv1.Transport {
	if in.host != nil {
		return registryv1.Transport_TRANSPORT_ATTACHED
	}
	return registryv1.Transport_TRANSPORT_DIALLED
}

// toProto is called with the mutex of instances held, or before the instance is listed.
func (in *instance) toProto() *registryv1.Instance {
	out := &registryv1.Instance{
		InstanceId: in.id, Transport: in.transport(), Address: in.address, CheckerName: in.desc.GetName(), Version: in.desc.GetVersion(),
		BuildDigest: in.desc.GetBuildDigest(), BroughtBy: in.broughtBy, Since: timestamp(in.since),
	}
	if in.lease != nil {
		out.LeaseExpiresAt = timestamp(in.lease.expires)
	}
	return out
}

// instances are the checkers that came by themselves. Safe for concurrent use.
type instances struct {
	limit int
	clock Clock

	mu       sync.Mutex // guards all below
	places   int        // taken by instances, and by those that are on their way in
	byName   map[string][]*instance
	builds   builds
	leases   map[string]*instance
	stopped  bool
	stopping chan struct{} // closed with stopped
}

func newInstances(limit int, clock Clock) *instances {
	return &instances{limit: limit, clock: clock, byName: map[string][]*instance{}, leases: map[string]*instance{}, stopping: make(chan struct{})}
}

// reserve takes a place for one that comes. CodeBusy if there is none; give it back with free.
func (l *instances) reserve() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return errStopping()
	}
	if l.places >= l.limit {
		return fixture.NewError(fixture.CodeBusy, "admit", "", fmt.Errorf("the server has %d instances of checkers, as many as it takes; try again later", l.limit))
	}
	l.places++
	return nil
}

func (l *instances) free() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.places--
}

func errStopping() error {
	return fixture.NewError(fixture.CodeUnavailable, "admit", "", errors.New("the server is stopping"))
}

// maxKeptDescription bounds the description of an instance, which is kept for as long as it is there.
const maxKeptDescription = 1 << 20

// attach lists an attached instance.
func (l *instances) attach(in *instance) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.add(in)
}

// add lists an instance, if it is of the build that its name stands for. mu is held.
func (l *instances) add(in *instance) error {
	if n := proto.Size(in.desc); n > maxKeptDescription {
		return fixture.NewError(fixture.CodeUnavailable, "admit", fmt.Sprintf("%.120q", in.name), fmt.Errorf("its description has %d bytes, over the limit of %d", n, maxKeptDescription))
	}
	if l.stopped {
		return errStopping()
	}
	for _, other := range l.byName[in.name] {
		if in.address != "" && in.address == other.address {
			return fixture.NewError(fixture.CodeExists, "register", fmt.Sprintf("%.120q", in.name), fmt.Errorf("%.120q is registered already; its lease ends by itself", in.address))
		}
		if other.broughtBy != in.broughtBy { // who could join would get a part of the cases, and so decide
			return fixture.NewError(fixture.CodeDenied, "admit", fmt.Sprintf("%.120q", in.name), fmt.Errorf("the instances of this name were brought by %q, and only they may add to them", other.broughtBy))
		}
		if err := same(in.name, other.desc, in.desc, proto.Equal(other.desc, in.desc)); err != nil {
			return err
		}
	}
	if err := l.builds.admit(in.name, in.broughtBy, in.desc); err != nil {
		return err
	}
	l.byName[in.name] = append(l.byName[in.name], in)
	return nil
}

// byID gives an instance that is listed, or nil.
func (l *instances) byID(id string) *instance {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, all := range l.byName {
		for _, in := range all {
			if in.id == id {
				return in
			}
		}
	}
	return nil
}

// end takes an instance from the list. Runs that use it go on with what there is of it. It does nothing the second time.
func (l *instances) end(in *instance) {
	l.mu.Lock()
	l.drop(in)
	unused := in.runs == 0
	l.mu.Unlock()
	if unused {
		in.close()
	}
}

// drop is end for a caller that holds mu, but for the host.
func (l *instances) drop(in *instance) {
	if in.ended {
		return
	}
	in.ended = true
	l.byName[in.name] = slices.DeleteFunc(l.byName[in.name], func(o *instance) bool { return o == in })
	if len(l.byName[in.name]) == 0 {
		delete(l.byName, in.name)
	}
	if in.lease != nil {
		delete(l.leases, in.lease.id)
		in.lease.stop()
		l.places--
	}
}

func (in *instance) close() {
	if in.host != nil {
		_ = in.host.Close() // it is gone, whatever is said of its connection
	}
}

// use gives the instances of a name, oldest first. Each is the caller's to hand to release.
func (l *instances) use(name string) []*instance {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []*instance
	for _, in := range l.byName[name] {
		if !l.stopped || in.runs > 0 {
			in.runs++
			out = append(out, in)
		}
	}
	return out
}

// release says that a run no longer uses an instance.
func (l *instances) release(in *instance) {
	l.mu.Lock()
	in.runs--
	unused := in.runs == 0
	if unused && l.stopped {
		close(in.idle)
	}
	unused = unused && in.ended
	l.mu.Unlock()
	if unused {
		in.close()
	}
}

// names lists the names that have instances, in ascending order.
func (l *instances) names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.byName))
}

// list gives the instances of a name, oldest first.
func (l *instances) list(name string) []*registryv1.Instance {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []*registryv1.Instance
	for _, in := range l.byName[name] {
		out = append(out, in.toProto())
	}
	return out
}

// attached counts the instances that are attached.
func (l *instances) attached() (n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, all := range l.byName {
		for _, in := range all {
			if in.host != nil {
				n++
			}
		}
	}
	return n
}

// stop admits nobody any more, ends all leases, and has every attached instance end as soon as no run uses it.
func (l *instances) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return
	}
	l.stopped = true
	close(l.stopping)
	for _, all := range l.byName {
		for _, in := range slices.Clone(all) {
			switch {
			case in.lease != nil:
				l.drop(in)
			case in.runs == 0:
				close(in.idle)
			}
		}
	}
}
