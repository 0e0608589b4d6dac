package recorder

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// pullRequestVariables are set by CI systems where the code that runs is that of a pull request, or of a fork: then whoever
// wrote it could read the key. values are those that say so; none means any value but an empty one and "false".
var pullRequestVariables = []struct {
	name, system string
	values       []string
}{
	{"RETRIAL_PULL_REQUEST", "this job's own statement", nil},
	{"GITHUB_HEAD_REF", "GitHub, Gitea, Forgejo", nil},
	{"GITHUB_EVENT_NAME", "GitHub, Gitea, Forgejo", []string{
		"pull_request", "pull_request_target", "pull_request_review", "pull_request_review_comment", "pull_request_comment", "merge_group",
	}},
	{"CI_PIPELINE_SOURCE", "GitLab", []string{"merge_request_event", "external_pull_request_event"}},
	{"CI_MERGE_REQUEST_IID", "GitLab", nil},
	{"CI_EXTERNAL_PULL_REQUEST_IID", "GitLab", nil},
	{"BUILDKITE_PULL_REQUEST", "Buildkite", nil},
	{"CIRCLE_PULL_REQUEST", "CircleCI", nil},
	{"CIRCLE_PULL_REQUESTS", "CircleCI", nil},
	{"CIRCLE_PR_NUMBER", "CircleCI", nil},
	{"TRAVIS_PULL_REQUEST", "Travis CI", nil},
	{"BITBUCKET_PR_ID", "Bitbucket", nil},
	{"DRONE_PULL_REQUEST", "Drone", nil},
	{"CI_COMMIT_PULL_REQUEST", "Woodpecker", nil},
	{"SYSTEM_PULLREQUEST_PULLREQUESTID", "Azure Pipelines", nil},
	{"BUILD_REASON", "Azure Pipelines", []string{"PullRequest"}},
	{"CHANGE_ID", "Jenkins", nil},
	{"ghprbPullId", "Jenkins", nil},
	{"APPVEYOR_PULL_REQUEST_NUMBER", "AppVeyor", nil},
	{"CIRRUS_PR", "Cirrus CI", nil},
	{"BITRISE_PULL_REQUEST", "Bitrise", nil},
	{"CM_PULL_REQUEST", "Codemagic", nil},
	{"CF_PULL_REQUEST_NUMBER", "Codefresh", nil},
	{"PULL_NUMBER", "Prow", nil},
	{"SEMAPHORE_GIT_PR_NUMBER", "Semaphore", nil},
}

// PullRequest says why a run would be one on a pull request, by the environment that lookup reads (S7); empty where nothing says
// so. What triggered a workflow of GitHub is read from the event's file too: a workflow that runs behind one of a pull request, or on
// a comment on one, has the secrets of the repository and is set off by its author. A file that cannot be read counts as one.
func PullRequest(lookup func(name string) (string, bool)) string {
	for _, v := range pullRequestVariables {
		value, _ := lookup(v.name)
		if v.values == nil && value != "" && !strings.EqualFold(value, "false") || slices.Contains(v.values, value) {
			return fmt.Sprintf("%s is %.80q (%s)", v.name, value, v.system)
		}
	}
	if ref, _ := lookup("GITHUB_REF"); strings.HasPrefix(ref, "refs/pull/") {
		return fmt.Sprintf("GITHUB_REF is %.80q (GitHub, Gitea, Forgejo)", ref)
	}
	if file, _ := lookup("GITHUB_EVENT_PATH"); file != "" {
		return eventOf(file)
	}
	return ""
}

// eventOf says why the event of a file comes from a pull request.
func eventOf(file string) string {
	src, err := os.ReadFile(file)
	if err != nil {
		return fmt.Sprintf("the event of GITHUB_EVENT_PATH cannot be read, and so may be one of a pull request: %v", err)
	}
	var event struct {
		PullRequest any `json:"pull_request"`
		Issue       struct {
			PullRequest any `json:"pull_request"`
		} `json:"issue"`
		WorkflowRun struct {
			Event string `json:"event"`
		} `json:"workflow_run"`
	}
	switch err := json.Unmarshal(src, &event); {
	case err != nil:
		return "the event of GITHUB_EVENT_PATH is no JSON, and so may be one of a pull request"
	case event.PullRequest != nil, event.Issue.PullRequest != nil:
		return "the event of GITHUB_EVENT_PATH is about a pull request"
	case strings.HasPrefix(event.WorkflowRun.Event, "pull_request"), event.WorkflowRun.Event == "merge_group":
		return fmt.Sprintf("the event of GITHUB_EVENT_PATH is a workflow that %.40q has set off", event.WorkflowRun.Event)
	}
	return ""
}
