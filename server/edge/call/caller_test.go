package call

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/auth"
)

func TestCallerKey_DiffersForDifferentUsers(t *testing.T) {
	seen := make(map[string]auth.Identity)
	for _, user := range []auth.Identity{
		{Username: "a"}, {Username: "a", UID: "b"}, {Username: "ab"}, {Username: "a\x00b"}, {Username: "a\x00"}, {Username: "a", UID: "\x00b"},
		{Username: "a\x00b", UID: "c"}, {Username: "a", UID: "b\x00c"},
	} {
		key := CallerKey(user)
		if other, ok := seen[key]; ok {
			t.Errorf("%q %q and %q %q have one key", user.Username, user.UID, other.Username, other.UID)
		}
		seen[key] = user
	}
}
