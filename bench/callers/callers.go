// Package callers has what the programs next to it share that call the service as callers with small
// permissions: service accounts, a service that authenticates them with the cluster, and counts of the
// results of calls.
package callers

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect/v2"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// home is the namespace of the service accounts, and tokenSeconds the lifetime of their tokens.
const (
	home         = "default"
	tokenSeconds = 7200
)

// Add creates a service account and returns a token of it.
func Add(ctx context.Context, cluster kubernetes.Interface, name string) (token string, err error) {
	accounts := cluster.CoreV1().ServiceAccounts(home)
	if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(tokenSeconds))}}
	request, err = accounts.CreateToken(ctx, name, request, metav1.CreateOptions{})
	return request.Status.Token, err
}

// Subject returns the subject of the bindings of a service account.
func Subject(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: home, Name: name}
}

// Rule returns a rule for resources of the core group.
func Rule(verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: resources, Verbs: verbs}
}

// Grant creates a role in a namespace and binds a service account to it, both with its name.
func Grant(ctx context.Context, cluster kubernetes.Interface, name, namespace string, rules ...rbacv1.PolicyRule) error {
	meta := metav1.ObjectMeta{Name: name}
	if _, err := cluster.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{}); err != nil {
		return err
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}, Subjects: []rbacv1.Subject{Subject(name)},
	}
	_, err := cluster.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{})
	return err
}

// Service is a running service.
type Service struct {
	*harness.Process
	Address string // its URL, without a trailing slash
}

var servingLine = regexp.MustCompile(`msg=serving\b.*\baddress="?(https?://[^\s"]+)`)

// startTimeout bounds the time until a service accepts connections.
const startTimeout = time.Minute

// Start starts a service on a free port that authenticates callers with the cluster, and blocks until it
// accepts connections. The caller must stop it.
func Start(ctx context.Context, environment []string, path, kubeconfig string, flags ...string) (*Service, error) {
	process, err := harness.StartWith(environment, path,
		append([]string{"--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--auth", "cluster"}, flags...)...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	line, err := process.UntilPrints(ctx, servingLine.MatchString)
	if err != nil {
		_ = process.Stop()
		return nil, err
	}
	return &Service{process, servingLine.FindStringSubmatch(line)[1]}, nil
}

// Bearer is a transport that sends a token with each request.
type Bearer struct {
	Token string
	Base  http.RoundTripper
}

// RoundTrip sends a request with the token.
func (b Bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+b.Token)
	return b.Base.RoundTrip(request)
}

// Wait blocks for a time, or until ctx ends.
func Wait(ctx context.Context, lasts time.Duration) {
	timer := time.NewTimer(lasts)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Selects reports whether a comma-separated list of parts of names, as programs have in -only, selects a name. An
// empty list selects all.
func Selects(only, name string) bool {
	for part := range strings.SplitSeq(only, ",") {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// Note logs the progress of a program to standard error.
func Note(format string, values ...any) {
	_, _ = io.WriteString(os.Stderr, time.Now().Format("15:04:05 ")+fmt.Sprintf(format, values...)+"\n")
}

// CodeOf returns the code of a call's result.
func CodeOf(err error) string {
	if err == nil {
		return "ok"
	}
	return connect.CodeOf(err).String()
}

// Tally counts results by their codes. It is safe for concurrent use.
type Tally struct {
	mu     sync.Mutex // guards counts
	counts map[string]int
}

// Add counts a code. It reports whether the code is the first of its kind since the last call of Take.
func (t *Tally) Add(code string) (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[code]++
	return t.counts[code] == 1
}

// Take returns the counts since the last call of Take.
func (t *Tally) Take() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := t.counts
	t.counts = nil
	return counts
}

// Text returns counts in the order of their codes, with commas.
func Text(counts map[string]int) string {
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", code, counts[code]))
	}
	return strings.Join(parts, ", ")
}
