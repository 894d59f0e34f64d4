package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/bench/callers"
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

// addCaller creates a service account with its permissions in a namespace.
func (l *lab) addCaller(ctx context.Context, name, namespace string, verbs []string) (err error) {
	if l.tokens[name], err = callers.Add(ctx, l.cluster.Client, name); err != nil || verbs == nil {
		return err
	}
	return callers.Grant(ctx, l.cluster.Client, name, namespace,
		callers.Rule(verbs, "configmaps"), callers.Rule([]string{"get", "list", "watch"}, "pods", "pods/log"))
}

// start starts a service and blocks until the caller named good is served. The caller must stop it.
func (l *lab) start(ctx context.Context, environment ...string) (*callers.Service, error) {
	s, err := callers.Start(ctx, environment, l.service, l.cluster.Kubeconfig, "--memory-limit", fmt.Sprint(memoryLimit))
	if err != nil {
		return nil, err
	}
	started, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := untilServed(started, s, l.tokens["good"]); err != nil {
		_ = s.Stop()
		return nil, err
	}
	return s, nil
}

func untilServed(ctx context.Context, s *callers.Service, token string) error {
	clients := dial(s.Address, token)
	for {
		_, err := clients.Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: goodNamespace})
		if err == nil || ctx.Err() != nil {
			return err
		}
		callers.Wait(ctx, 100*time.Millisecond)
	}
}

// dial returns clients that send a token with each call.
func dial(address, token string) harness.Clients {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return harness.Dial(&http.Client{Transport: callers.Bearer{Token: token, Base: &http.Transport{Protocols: protocols}}}, address, harness.GRPC)
}
