package server

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// TestToken_OfAnotherGenerationBeginsWithASnapshot resumes at another replica, with one watch and
// with several in one stream, with whole objects and with patches.
func TestToken_OfAnotherGenerationBeginsWithASnapshot(t *testing.T) {
	replicaOf := func(t *testing.T, generation string) *service {
		everything := servertest.NewFakeRights(auth.Namespaces{All: true})
		return newServiceOf(t, servertest.PodsAPI(), Config{Edge: edge.Config{Authenticator: everything}, Authorizer: everything, TokenGeneration: generation})
	}
	for name, test := range map[string]struct {
		from, to  string
		continues bool
	}{
		"none":                     {"", "", true},
		"the same":                 {"restored 2026-11-22", "restored 2026-11-22", true},
		"the first one":            {"", "1", false},
		"another one":              {"1", "2", false},
		"none again":               {"1", "", false},
		"one that looks like some": {"", "v1", false},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := replicaOf(t, test.from), replicaOf(t, test.to)
			for _, patches := range []kubeconnectv1.PatchFormat{encode.WholeObject, kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE} {
				watch := func(s *service, token string) *follower {
					stream, err := responses.Of(s.resources.Watch(t.Context(), &kubeconnectv1.WatchRequest{Resource: "pods", ResumeToken: token, PatchFormat: patches}))
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = stream.Close() })
					return &follower{t: t, stream: stream}
				}
				first := watch(from, "")
				first.next()
				if second := watch(to, first.token); test.continues {
					second.want("BOOKMARK")
				} else {
					second.want("RESET", "ADDED default/a", "ADDED default/b", "SYNCED")
				}
			}
			several := followMany(t, from, podsTwice())
			several.want(0, "RESET ADDED:a ADDED:b SYNCED")
			several.want(1, "RESET ADDED:b SYNCED")
			request := podsTwice()
			request.ResumeToken = several.token
			if on := followMany(t, to, request); test.continues {
				on.want(0, "BOOKMARK")
				on.want(1, "BOOKMARK")
			} else {
				on.want(0, "RESET ADDED:a ADDED:b SYNCED")
				on.want(1, "RESET ADDED:b SYNCED")
			}
		})
	}
}
