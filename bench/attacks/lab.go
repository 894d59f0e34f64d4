package main

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/costly"
	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

const (
	// memoryLimit is the memory limit of the service.
	memoryLimit = 1 << 30
	// goodObjects is the number of ConfigMaps of the good caller.
	goodObjects = 50
	// largeObjects is the number of ConfigMaps in the namespace with large objects, largeValues the number
	// of their values, which is the number of names that a join reads of an object, and largeBytes the
	// size of each value.
	largeObjects, largeValues, largeBytes = 44, 1_000, 240
	// listedObjects is the number of ConfigMaps of the caller whose lists have an expensive filter.
	listedObjects = 500
)

// The namespaces, each of which has the objects of one caller, or of two that share it.
const (
	goodNamespace   = "good"
	evilNamespace   = "evil"
	sharedNamespace = "shared"
	largeNamespace  = "large"
	listedNamespace = "listed"
)

// lab is a control plane with callers and their objects.
type lab struct {
	settings
	cluster *harness.Cluster
	tokens  map[string]string // by the caller's name
}

// grants are the verbs that each caller has for ConfigMaps, and for pods and their logs, in a namespace.
// The caller named nobody has none.
var grants = []struct {
	caller, namespace string
	verbs             []string
}{
	{"good", goodNamespace, []string{"get", "list", "watch"}},
	{"evil", evilNamespace, []string{"get", "list", "watch", "create", "update", "patch", "delete"}},
	{"shared-a", sharedNamespace, []string{"get", "list", "watch"}},
	{"shared-b", sharedNamespace, []string{"get", "list", "watch"}},
	{"shared-writer", sharedNamespace, []string{"get", "list", "watch", "create", "delete", "deletecollection"}},
	{"large", largeNamespace, []string{"get", "list", "watch"}},
	{"lister", listedNamespace, []string{"get", "list", "watch"}},
	{"nobody", "", nil},
}

// newLab starts the control plane and creates the callers and their objects. The caller must stop the
// control plane.
func newLab(ctx context.Context, s settings) (*lab, error) {
	cluster, err := harness.StartCluster()
	if err != nil {
		return nil, err
	}
	l := &lab{settings: s, cluster: cluster, tokens: map[string]string{}}
	if err := l.fill(ctx); err != nil {
		cluster.Stop()
		return nil, err
	}
	return l, nil
}

func (l *lab) fill(ctx context.Context) error {
	for _, namespace := range []string{goodNamespace, evilNamespace, sharedNamespace, largeNamespace, listedNamespace} {
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		if _, err := l.cluster.Client.CoreV1().Namespaces().Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for _, grant := range grants {
		if err := l.addCaller(ctx, grant.caller, grant.namespace, grant.verbs); err != nil {
			return fmt.Errorf("caller %s: %w", grant.caller, err)
		}
	}
	for namespace, data := range map[string]map[string]string{evilNamespace: {"a": "1"}, sharedNamespace: {"a": "1"}} {
		if err := l.createConfigMap(ctx, namespace, costly.Object, data); err != nil {
			return err
		}
	}
	for i := range goodObjects {
		if err := l.createConfigMap(ctx, goodNamespace, fmt.Sprintf("good-%03d", i), map[string]string{"order": fmt.Sprint(i * 7 % goodObjects)}); err != nil {
			return err
		}
	}
	for i := range listedObjects {
		if err := l.createConfigMap(ctx, listedNamespace, fmt.Sprintf("listed-%03d", i), nil); err != nil {
			return err
		}
	}
	return l.createLarge(ctx)
}

// createLarge creates objects with many values each, which a join can use as names.
func (l *lab) createLarge(ctx context.Context) error {
	for i := range largeObjects {
		data := map[string]string{}
		for k := range largeValues {
			data[fmt.Sprintf("k%05d", k)] = fmt.Sprintf("name-%03d-%05d-%s", i, k, strings.Repeat("n", largeBytes-20))
		}
		if err := l.createConfigMap(ctx, largeNamespace, fmt.Sprintf("large-%03d", i), data); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) createConfigMap(ctx context.Context, namespace, name string, data map[string]string) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	_, err := l.cluster.Client.CoreV1().ConfigMaps(namespace).Create(ctx, object, metav1.CreateOptions{})
	return err
}

// addCaller creates a service account, its permissions in a namespace, and a token.
func (l *lab) addCaller(ctx context.Context, name, namespace string, verbs []string) error {
	const home = "default"
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := l.cluster.Client.CoreV1().ServiceAccounts(home).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return err
	}
	if verbs != nil {
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs},
			{APIGroups: []string{""}, Resources: []string{"pods", "pods/log"}, Verbs: []string{"get", "list", "watch"}},
		}}
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: home, Name: name}},
		}
		if _, err := l.cluster.Client.RbacV1().Roles(namespace).Create(ctx, role, metav1.CreateOptions{}); err != nil {
			return err
		}
		if _, err := l.cluster.Client.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(7200))}}
	request, err := l.cluster.Client.CoreV1().ServiceAccounts(home).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err == nil {
		l.tokens[name] = request.Status.Token
	}
	return err
}

// service is a running service.
type service struct {
	*harness.Process
	address string
}

var servingLine = regexp.MustCompile(`msg=serving\b.*\baddress="?(https?://[^\s"]+)`)

// start starts a service and blocks until the caller named good is served. The caller must stop it.
func (l *lab) start(ctx context.Context, environment ...string) (*service, error) {
	process, err := harness.StartWith(environment, l.service,
		"--kubeconfig", l.cluster.Kubeconfig, "--listen", "127.0.0.1:0", "--auth", "cluster", "--memory-limit", fmt.Sprint(memoryLimit))
	if err != nil {
		return nil, err
	}
	started, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	line, err := process.UntilPrints(started, func(line string) bool { return servingLine.MatchString(line) })
	if err != nil {
		_ = process.Stop()
		return nil, err
	}
	s := &service{process, servingLine.FindStringSubmatch(line)[1]}
	if err := s.untilServed(started, l.tokens["good"]); err != nil {
		_ = process.Stop()
		return nil, err
	}
	return s, nil
}

func (s *service) untilServed(ctx context.Context, token string) error {
	clients := dial(s.address, token)
	for {
		_, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: goodNamespace})
		if err == nil || ctx.Err() != nil {
			return err
		}
		wait(ctx, 100*time.Millisecond)
	}
}

// dial returns clients that send a token with each call.
func dial(address, token string) harness.Clients {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return harness.Dial(&http.Client{Transport: bearer{token, &http.Transport{Protocols: protocols}}}, address, harness.GRPC)
}

// bearer is a transport that sends a token with each request.
type bearer struct {
	token string
	base  http.RoundTripper
}

func (b bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+b.token)
	return b.base.RoundTrip(request)
}

// wait blocks for a time, or until ctx ends.
func wait(ctx context.Context, lasts time.Duration) {
	timer := time.NewTimer(lasts)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// tally counts results by their codes. It is safe for concurrent use.
type tally struct {
	mu     sync.Mutex // guards counts
	counts map[string]int
}

// add reports whether the code is the first of its kind since the last call of take.
func (t *tally) add(code string) (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[code]++
	return t.counts[code] == 1
}

// take returns the counts since the last call of take.
func (t *tally) take() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := t.counts
	t.counts = nil
	return counts
}

// text returns counts in the order of their codes, with commas.
func text(counts map[string]int) string {
	var parts []string
	for _, code := range sortedKeys(counts) {
		parts = append(parts, fmt.Sprintf("%s %d", code, counts[code]))
	}
	return strings.Join(parts, ", ")
}
