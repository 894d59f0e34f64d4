package filter

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestSnippets_WaitUntilARolloutIsComplete evaluates the filters of docs/tasks/wait.md, which callers copy.
func TestSnippets_WaitUntilARolloutIsComplete(t *testing.T) {
	t.Parallel()
	for name, pattern := range map[string]string{
		"docs/snippets/typescript/wait.ts": "(?s)complete = `(.*?)`",
		"docs/snippets/grpcurl/wait.sh":    `"filter": "(.*?)"`,
	} {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindStringSubmatch(string(text))
		if found == nil {
			t.Fatalf("%s has no filter", name)
		}
		complete, err := Compile(found[1])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for object, want := range map[string]bool{
			`"spec":{"replicas":0},"status":{"observedGeneration":2}`:                                                        true,
			`"spec":{"replicas":2},"status":{"observedGeneration":2,"replicas":2,"updatedReplicas":2,"availableReplicas":2}`: true,
			`"spec":{"replicas":0},"status":{"observedGeneration":2,"replicas":1,"updatedReplicas":1}`:                       false,
			`"spec":{"replicas":2},"status":{"observedGeneration":2}`:                                                        false,
			`"spec":{"replicas":2},"status":{"observedGeneration":1,"replicas":2,"updatedReplicas":2,"availableReplicas":2}`: false,
			`"spec":{"replicas":2},"status":{"observedGeneration":2,"replicas":3,"updatedReplicas":2,"availableReplicas":2}`: false,
			`"spec":{"replicas":2},"status":{"observedGeneration":2,"replicas":2,"updatedReplicas":1,"availableReplicas":2}`: false,
			`"spec":{"replicas":2},"status":{"observedGeneration":2,"replicas":2,"updatedReplicas":2,"availableReplicas":1}`: false,
			`"spec":{"replicas":2},"status":{}`: false,
		} {
			if got, _ := complete.Matches([]byte(`{"metadata":{"generation":2},`+object+`}`), nil); got != want {
				t.Errorf("%s: complete is %v, want %v: %s", name, got, want, object)
			}
		}
	}
}
