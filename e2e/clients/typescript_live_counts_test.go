package clients_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// countsLine is a line of a program that follows counts. A group is its value, the number of objects,
// and the sum and the maximum of their sizes.
type countsLine struct {
	Step   string
	Total  int
	Sum    string
	Groups []string
}

// TestTypeScript_FollowsCounts changes what is counted, also while the stream is broken: the program
// must always have all numbers.
func TestTypeScript_FollowsCounts(t *testing.T) {
	t.Parallel()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for name, command := range livePrograms(t, "counts") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			settings := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
			size := func(name, size string) {
				settings.Patch(name, map[string]any{"data": map[string]any{"size": size}})
			}
			for name, tier := range map[string]string{"a": "web", "b": "web", "c": "db"} {
				settings.Create(name, kit.Labels{"tier": tier})
				size(name, "100m")
			}
			link := harness.StartProxy(t, kit.HostPort(service), harness.None)
			caller := startProgram(t, command, "http://"+link.Address(), namespace)
			caller.counts(ctx, countsLine{Total: 3, Sum: "0.3", Groups: []string{"web 2 0.2 100m", "db 1 0.1 100m"}})
			size("c", "9007199254740993")
			caller.counts(ctx, countsLine{Total: 3, Sum: "9007199254740993.2",
				Groups: []string{"web 2 0.2 100m", "db 1 9007199254740993 9007199254740993"}})
			link.Cut()
			settings.Relabel("c", map[string]any{"tier": "web"})
			size("c", "1")
			caller.counts(ctx, countsLine{Total: 3, Sum: "1.2", Groups: []string{"web 3 1.2 1"}})
			for _, name := range []string{"a", "b", "c"} {
				settings.Delete(name)
			}
			caller.counts(ctx, countsLine{Groups: []string{}})
			caller.Ends(ctx)
		})
	}
}

// counts blocks until the program has these numbers.
func (p program) counts(ctx context.Context, want countsLine) {
	p.t.Helper()
	_, err := p.Process.UntilPrints(ctx, func(line string) bool {
		var printed countsLine
		return json.Unmarshal([]byte(line), &printed) == nil && printed.Step == "counts" &&
			printed.Total == want.Total && printed.Sum == want.Sum && slices.Equal(printed.Groups, want.Groups)
	})
	if err != nil {
		p.t.Fatalf("%v: the program does not have %+v", err, want)
	}
}
