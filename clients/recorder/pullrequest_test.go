package recorder_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/retrial-dev/retrial/clients/recorder"
)

// S7: nothing is recorded on a pull request, by whatever a CI system says so; elsewhere in CI, and outside of it, it is.
func TestS7PullRequests(t *testing.T) {
	event := func(src string) map[string]string {
		file := filepath.Join(t.TempDir(), "event.json")
		if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		return map[string]string{"GITHUB_EVENT_PATH": file, "GITHUB_EVENT_NAME": "workflow_run"}
	}
	for _, tt := range []struct {
		name    string
		env     map[string]string
		refused bool
	}{
		{"no CI", map[string]string{"HOME": "/root"}, false},
		{"said so", map[string]string{"RETRIAL_PULL_REQUEST": "1"}, true},
		{"said not so", map[string]string{"RETRIAL_PULL_REQUEST": "false"}, false},
		{"GitHub, schedule", map[string]string{"CI": "true", "GITHUB_EVENT_NAME": "schedule", "GITHUB_REF": "refs/heads/main", "GITHUB_HEAD_REF": ""}, false},
		{"GitHub, by hand", map[string]string{"CI": "true", "GITHUB_EVENT_NAME": "workflow_dispatch"}, false},
		{"GitHub, push", map[string]string{"GITHUB_EVENT_NAME": "push"}, false},
		{"GitHub, pull request", map[string]string{"GITHUB_EVENT_NAME": "pull_request"}, true},
		{"GitHub, with secrets", map[string]string{"GITHUB_EVENT_NAME": "pull_request_target"}, true},
		{"GitHub, review", map[string]string{"GITHUB_EVENT_NAME": "pull_request_review"}, true},
		{"GitHub, review comment", map[string]string{"GITHUB_EVENT_NAME": "pull_request_review_comment"}, true},
		{"GitHub, merge queue", map[string]string{"GITHUB_EVENT_NAME": "merge_group"}, true},
		{"GitHub, head", map[string]string{"GITHUB_HEAD_REF": "topic"}, true},
		{"GitHub, ref", map[string]string{"GITHUB_REF": "refs/pull/7/merge"}, true},
		{"GitHub, behind a pull request", event(`{"workflow_run":{"event":"pull_request"}}`), true},
		{"GitHub, behind a schedule", event(`{"workflow_run":{"event":"schedule"},"issue":{}}`), false},
		{"GitHub, a comment on a pull request", event(`{"issue":{"pull_request":{"url":"x"}}}`), true},
		{"GitHub, a comment on an issue", event(`{"issue":{"number":7}}`), false},
		{"GitHub, an event about a pull request", event(`{"pull_request":{}}`), true},
		{"GitHub, an event that is no JSON", event(`{`), true},
		{"GitHub, an event that is not there", map[string]string{"GITHUB_EVENT_PATH": "/no/such"}, true},
		{"GitLab, schedule", map[string]string{"CI_PIPELINE_SOURCE": "schedule"}, false},
		{"GitLab, merge request", map[string]string{"CI_PIPELINE_SOURCE": "merge_request_event"}, true},
		{"GitLab, external", map[string]string{"CI_PIPELINE_SOURCE": "external_pull_request_event"}, true},
		{"GitLab, id", map[string]string{"CI_MERGE_REQUEST_IID": "7"}, true},
		{"Buildkite", map[string]string{"BUILDKITE_PULL_REQUEST": "7"}, true},
		{"Buildkite, none", map[string]string{"BUILDKITE_PULL_REQUEST": "false"}, false},
		{"CircleCI", map[string]string{"CIRCLE_PULL_REQUEST": "https://x/7"}, true},
		{"CircleCI, fork", map[string]string{"CIRCLE_PR_NUMBER": "7"}, true},
		{"Travis CI", map[string]string{"TRAVIS_PULL_REQUEST": "7"}, true},
		{"Travis CI, none", map[string]string{"TRAVIS_PULL_REQUEST": "false"}, false},
		{"Bitbucket", map[string]string{"BITBUCKET_PR_ID": "7"}, true},
		{"Drone", map[string]string{"DRONE_PULL_REQUEST": "7"}, true},
		{"Azure Pipelines", map[string]string{"SYSTEM_PULLREQUEST_PULLREQUESTID": "7"}, true},
		{"Azure Pipelines, reason", map[string]string{"BUILD_REASON": "PullRequest"}, true},
		{"Azure Pipelines, schedule", map[string]string{"BUILD_REASON": "Schedule"}, false},
		{"Jenkins", map[string]string{"CHANGE_ID": "7"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			why := recorder.PullRequest(func(name string) (string, bool) {
				value, ok := tt.env[name]
				return value, ok
			})
			if (why != "") != tt.refused {
				t.Errorf("got %q", why)
			}
		})
	}
}
