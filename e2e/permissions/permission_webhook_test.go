package permissions_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// denyingWebhook is an authorizer that is queried before RBAC. It denies requests by rules and has
// no opinion about others.
type denyingWebhook struct {
	mu       sync.Mutex // guards the fields below
	subjects []string   // the users that the rules apply to
	denials  []denial
}

// denial is a rule. Empty fields match everything, except the namespace: an empty one matches
// requests for all namespaces, and anyNamespace matches every namespace.
type denial struct {
	user         string
	verb         string
	resource     string
	namespace    string
	anyNamespace bool
	name         string
}

// apiServerArgs starts the webhook, and returns the flags with which the API server of devcluster
// queries it without caching.
func (w *denyingWebhook) apiServerArgs(t *testing.T) []string {
	t.Helper()
	path := kit.StartWebhook(t, w)
	return apiServerArgs(
		"authorization-mode=Node,Webhook,RBAC", "authorization-webhook-config-file="+path, "authorization-webhook-version=v1",
		"authorization-webhook-cache-authorized-ttl=1ms", "authorization-webhook-cache-unauthorized-ttl=1ms",
	)
}

func apiServerArgs(flags ...string) (args []string) {
	for _, flag := range flags {
		args = append(args, "--apiserver-arg", flag)
	}
	return args
}

func (w *denyingWebhook) setSubjects(users []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.subjects = users
}

func (w *denyingWebhook) setDenials(denials []denial) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.denials = denials
}

func (w *denyingWebhook) ServeHTTP(answer http.ResponseWriter, r *http.Request) {
	review := &authorizationv1.SubjectAccessReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil {
		http.Error(answer, err.Error(), http.StatusBadRequest)
		return
	}
	review.Status = authorizationv1.SubjectAccessReviewStatus{}
	if w.denies(&review.Spec) {
		review.Status = authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: "the webhook denies it"}
	}
	answer.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(answer).Encode(review)
}

func (w *denyingWebhook) denies(spec *authorizationv1.SubjectAccessReviewSpec) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	attributes := spec.ResourceAttributes
	if attributes == nil || !slices.Contains(w.subjects, spec.User) || strings.HasPrefix(attributes.Name, "bell-") {
		return false
	}
	return slices.ContainsFunc(w.denials, func(d denial) bool { return d.matches(spec.User, attributes) })
}

func (d denial) matches(user string, attributes *authorizationv1.ResourceAttributes) bool {
	same := func(rule, value string) bool { return rule == "" || rule == value }
	return same(d.user, user) && same(d.verb, attributes.Verb) && d.resource == attributes.Resource &&
		(d.anyNamespace || d.namespace == attributes.Namespace) && same(d.name, attributes.Name)
}

// tokenUsers are users that the API server authenticates by tokens in a file.
type tokenUsers []tokenUser

type tokenUser struct {
	name, token string
	groups      [2]string
}

func newTokenUsers(count int) (users tokenUsers) {
	for i := range count {
		users = append(users, tokenUser{
			name: fmt.Sprint("user-", i), token: fmt.Sprint("token-of-user-", i),
			groups: [2]string{fmt.Sprint("group-", i%2), "everyone"},
		})
	}
	return users
}

// apiServerArgs returns the flags with which the API server of devcluster authenticates the users.
func (users tokenUsers) apiServerArgs(t *testing.T) []string {
	t.Helper()
	var lines strings.Builder
	for i, user := range users {
		fmt.Fprintf(&lines, "%s,%s,uid-%d,\"%s,%s\"\n", user.token, user.name, i, user.groups[0], user.groups[1])
	}
	path := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return apiServerArgs("token-auth-file=" + path)
}

// randomDenial chooses a rule: for a namespace, for all namespaces, or for a name.
func (s *permissionStage) randomDenial(rnd *rand.Rand) denial {
	kind := pick(rnd, s.kinds)
	d := denial{resource: kind.Resource}
	if rnd.IntN(2) == 0 {
		d.user = pick(rnd, s.callers).name
	}
	if rnd.IntN(2) == 0 {
		d.verb = pick(rnd, readVerbs)
	}
	switch rnd.IntN(4) {
	case 0:
		d.anyNamespace, d.name = true, pick(rnd, kind.names)
	case 1: // all namespaces, and cluster-scoped objects
	default:
		d.namespace = pick(rnd, s.namespaces)
	}
	return d
}
