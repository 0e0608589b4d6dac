package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	fixturev1 "github.com/retrial-dev/retrial/gen/retrial/fixture/v1"
	gatev1 "github.com/retrial-dev/retrial/gen/retrial/gate/v1"
	logv1 "github.com/retrial-dev/retrial/gen/retrial/log/v1"
	registryv1 "github.com/retrial-dev/retrial/gen/retrial/registry/v1"
	replayv1 "github.com/retrial-dev/retrial/gen/retrial/replay/v1"
)

// Role is what a caller may do. Every role may read what a reader may.
type Role string

// The roles.
const (
	// Reader reads sets, replays, decisions and the standing of releases.
	Reader Role = "reader"
	// Submitter runs and cancels replays.
	Submitter Role = "submitter"
	// Author publishes versions and tags.
	Author Role = "author"
	// Approver approves versions, and grants and revokes waivers. Nobody is both approver and submitter.
	Approver Role = "approver"
	// Registrar attaches and registers checkers.
	Registrar Role = "registrar"
	// Auditor reads the log and has the whole store checked.
	Auditor Role = "auditor"
	// Admin may end leases and revoke waivers of others, and has the whole store checked. It grants nothing.
	Admin Role = "admin"
)

var roles = []Role{Reader, Submitter, Author, Approver, Registrar, Auditor, Admin}

// checkRoles refuses what no caller may be.
func checkRoles(have []Role) error {
	if len(have) == 0 {
		return errors.New("it has no role")
	}
	for _, r := range have {
		if !slices.Contains(roles, r) {
			return fmt.Errorf("there is no role %.40q; there are %s", r, roleList(roles))
		}
	}
	if slices.Contains(have, Approver) && slices.Contains(have, Submitter) {
		return errors.New("nobody is both approver and submitter: who waives a block must not be who submits runs")
	}
	return nil
}

func roleList(list []Role) string {
	names := make([]string, len(list))
	for i, r := range list {
		names[i] = string(r)
	}
	return strings.Join(names, ", ")
}

// Who may call what. Everything that the server serves has an entry here, or it does not start.
var (
	anyone  = []Role(nil) // without being known
	anyRole = roles

	permissions = map[string][]Role{
		fixturev1.FixtureService_CommitVersion_FullMethodName:  {Author},
		fixturev1.FixtureService_TagVersion_FullMethodName:     {Author},
		fixturev1.FixtureService_ApproveVersion_FullMethodName: {Approver},
		fixturev1.FixtureService_GetVersion_FullMethodName:     anyRole,
		fixturev1.FixtureService_ListSets_FullMethodName:       anyRole,
		fixturev1.FixtureService_ListVersions_FullMethodName:   anyRole,
		fixturev1.FixtureService_ListFixtures_FullMethodName:   anyRole,
		fixturev1.FixtureService_GetFixture_FullMethodName:     anyRole,
		fixturev1.FixtureService_DiffVersions_FullMethodName:   anyRole,
		fixturev1.FixtureService_ExplainRow_FullMethodName:     anyRole,
		fixturev1.FixtureService_VerifyStore_FullMethodName:    {Auditor, Admin},

		replayv1.ReplayService_Replay_FullMethodName:       {Submitter},
		replayv1.ReplayService_CancelReplay_FullMethodName: {Submitter, Admin},
		replayv1.ReplayService_GetReplay_FullMethodName:    anyRole,
		replayv1.ReplayService_WatchReplay_FullMethodName:  anyRole,
		replayv1.ReplayService_ListReplays_FullMethodName:  anyRole,

		gatev1.GateService_GetGateStatus_FullMethodName:  anyRole,
		gatev1.GateService_WatchGate_FullMethodName:      anyRole,
		gatev1.GateService_ListDecisions_FullMethodName:  anyRole,
		gatev1.GateService_AttestDecision_FullMethodName: anyRole,
		gatev1.GateService_ListWaivers_FullMethodName:    anyRole,
		gatev1.GateService_GrantWaiver_FullMethodName:    {Approver},
		gatev1.GateService_RevokeWaiver_FullMethodName:   {Approver, Admin},

		logv1.LogService_GetCheckpoint_FullMethodName:     anyRole,
		logv1.LogService_GetInclusionProof_FullMethodName: anyRole,
		logv1.LogService_ListEntries_FullMethodName:       {Auditor, Admin},

		registryv1.RegistryService_ListCheckers_FullMethodName:    anyRole,
		registryv1.RegistryService_DescribeChecker_FullMethodName: {Submitter, Registrar, Admin},
		registryv1.RegistryService_Attach_FullMethodName:          {Registrar},
		registryv1.RegistryService_Register_FullMethodName:        {Registrar},
		registryv1.RegistryService_RenewLease_FullMethodName:      {Registrar},
		registryv1.RegistryService_Deregister_FullMethodName:      {Registrar, Admin},

		healthv1.Health_Check_FullMethodName: anyone,
		healthv1.Health_Watch_FullMethodName: anyone,
		healthv1.Health_List_FullMethodName:  anyone,

		// Reflection is off unless the configuration turns it on, and shows nothing but the contract.
		"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      anyone,
		"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": anyone,
	}
)

// permits says whether a caller may call a method.
func permits(p Principal, method string) bool {
	allowed, known := permissions[method]
	return known && slices.ContainsFunc(p.Roles, func(r Role) bool { return slices.Contains(allowed, r) })
}

// public says whether a method may be called by those whom the server does not know.
func public(method string) bool {
	allowed, known := permissions[method]
	return known && len(allowed) == 0
}

// checkPermissions holds the table against what is served.
func checkPermissions(served []string) error {
	var missing []string
	for _, method := range served {
		if _, ok := permissions[method]; !ok {
			missing = append(missing, method)
		}
	}
	slices.Sort(missing)
	if len(missing) > 0 {
		return fmt.Errorf("nobody says who may call %s", strings.Join(missing, ", "))
	}
	return nil
}
