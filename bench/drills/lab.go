package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubeconnect/kubeconnect/bench/callers"
	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

const (
	// callerCount is the number of callers, each of which can read one namespace, with objectCount
	// ConfigMaps.
	callerCount, objectCount = 50, 60
	replicaCount             = 3
	// firstPeer and peers are the last byte of the first, and the number, of the loopback addresses at which
	// replicas that know each other serve their metrics in turn, all at the number of the balancer's port.
	firstPeer, peers = 2, 6
	// creators bounds the number of objects that are created at a time.
	creators = 16
	// writePace is the interval between the changes in a namespace. Each replaceEvery-th change replaces
	// an object by another one with the same name.
	writePace    = 2 * time.Second
	replaceEvery = 10
	// endpointDelay is the time from the end of a replica, or the beginning of its end, until the balancer
	// sends it no new connection, and probeTime the time until a replica that does not answer its probes
	// gets none: three probes with a period of five seconds, as in the chart.
	endpointDelay = time.Second
	probeTime     = 15 * time.Second
	// drainTime is the time from the removal of a replica from the balancer until it is stopped, as in
	// the chart.
	drainTime = 5 * time.Second
	// readyTimeout bounds the time until a replica is ready.
	readyTimeout = time.Minute
)

// serviceAccount is the name of the account of the service.
const serviceAccount = "kubeconnect"

// lab is a control plane with three replicas of the service, and callers with their objects.
type lab struct {
	settings
	dir        string // of temporary files
	cluster    *harness.Cluster
	api        kubernetes.Interface // of an administrator
	upstream   *upstreamProxy
	kubeconfig string // of the replicas
	balancer   *harness.Proxy
	replicas   []*callers.Service
	started    int      // number of replicas
	tokens     []string // by caller
}

func namespaceOf(caller int) string { return fmt.Sprintf("team-%02d", caller) }

func objectName(number int) string { return fmt.Sprintf("settings-%02d", number%objectCount) }

// newLab starts the control plane, creates callers and objects, and starts the replicas. The caller must
// call close.
func newLab(ctx context.Context, s settings) (l *lab, err error) {
	l = &lab{settings: s, tokens: make([]string, callerCount), balancer: harness.NewBalancer()}
	if l.dir, err = os.MkdirTemp("", "kubeconnect-drills-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if l.cluster, err = harness.StartCluster(); err != nil {
		return l, err
	}
	l.api = l.cluster.Client
	callers.Note("creating %d callers and %d objects", callerCount, callerCount*objectCount)
	if err := inParallel(callerCount, func(caller int) error { return l.fill(ctx, caller) }); err != nil {
		return l, err
	}
	if err := l.startUpstream(ctx); err != nil {
		return l, err
	}
	for range replicaCount {
		if err := l.addReplica(ctx); err != nil {
			return l, err
		}
	}
	return l, nil
}

func (l *lab) close() {
	l.balancer.Close()
	for _, replica := range l.replicas {
		_ = replica.Stop()
	}
	if l.upstream != nil {
		l.upstream.close()
	}
	if l.cluster != nil {
		l.cluster.Stop()
	}
	_ = os.RemoveAll(l.dir)
}

func inParallel(count int, do func(number int) error) error {
	var group errgroup.Group
	group.SetLimit(creators)
	for number := range count {
		group.Go(func() error { return do(number) })
	}
	return group.Wait()
}

// fill creates a caller, its namespace and the objects in it.
func (l *lab) fill(ctx context.Context, caller int) (err error) {
	namespace := namespaceOf(caller)
	if _, err := l.api.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	if l.tokens[caller], err = callers.Add(ctx, l.api, namespace); err != nil {
		return err
	}
	if err := callers.Grant(ctx, l.api, namespace, namespace, callers.Rule([]string{"get", "list", "watch"}, "configmaps")); err != nil {
		return err
	}
	for number := range objectCount {
		if err := l.create(ctx, namespace, number); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) create(ctx context.Context, namespace string, number int) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: objectName(number)}, Data: map[string]string{"number": strconv.Itoa(number)}}
	_, err := l.api.CoreV1().ConfigMaps(namespace).Create(ctx, object, metav1.CreateOptions{})
	return err
}

// startUpstream creates the account of the service, and starts the proxy that its requests pass.
func (l *lab) startUpstream(ctx context.Context) error {
	token, err := callers.Add(ctx, l.api, serviceAccount)
	if err != nil {
		return err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: serviceAccount}, Subjects: []rbacv1.Subject{callers.Subject(serviceAccount)},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
	}
	if _, err := l.api.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return err
	}
	tokenFile := filepath.Join(l.dir, "token")
	if err := os.WriteFile(tokenFile, []byte(token), 0o600); err != nil {
		return err
	}
	if l.upstream, err = startUpstreamProxy(l.cluster, token); err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["lab"] = &clientcmdapi.Cluster{Server: "https://" + l.upstream.address, CertificateAuthority: l.cluster.PKI("ca.crt")}
	config.AuthInfos["lab"] = &clientcmdapi.AuthInfo{TokenFile: tokenFile}
	config.Contexts["lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: "lab"}
	config.CurrentContext = "lab"
	l.kubeconfig = filepath.Join(l.dir, "kubeconfig")
	return clientcmd.WriteToFile(*config, l.kubeconfig)
}

// addReplica starts a replica, blocks until it is ready, and adds it to the balancer.
func (l *lab) addReplica(ctx context.Context) error {
	flags := []string{"--preload", "configmaps"}
	if l.peers != "" {
		_, port, _ := net.SplitHostPort(l.balancer.Address())
		address := fmt.Sprintf("127.0.0.%d:%s", firstPeer+l.started%peers, port)
		flags = append(flags, "--metrics-listen", address, "--peers", net.JoinHostPort(l.peers, port))
	}
	l.started++
	replica, err := callers.Start(ctx, []string{"KUBECONNECT_MAX_CONNECTIONS_PER_ADDRESS=1000"}, l.service, l.kubeconfig, flags...)
	if err != nil {
		return err
	}
	l.replicas = append(l.replicas, replica)
	if err := untilReady(ctx, replica); err != nil {
		return err
	}
	l.balancer.AddTarget(hostPort(replica))
	return nil
}

func hostPort(replica *callers.Service) string { return replica.Address[len("http://"):] }

func untilReady(ctx context.Context, replica *callers.Service) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		response, err := http.Get(replica.Address + "/readyz")
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		if callers.Wait(ctx, 100*time.Millisecond); ctx.Err() != nil {
			return fmt.Errorf("a replica is not ready: %w; its log:\n%s", ctx.Err(), replica.Output())
		}
	}
}

// startWriting changes objects of each namespace at the API server until stop is called. Changes that
// fail are not repeated.
func (l *lab) startWriting(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var writing sync.WaitGroup
	for caller := range callerCount {
		writing.Go(func() {
			callers.Wait(ctx, writePace*time.Duration(caller)/callerCount)
			for number := 0; ctx.Err() == nil; number++ {
				l.write(ctx, namespaceOf(caller), number)
				callers.Wait(ctx, writePace)
			}
		})
	}
	return func() {
		cancel()
		writing.Wait()
	}
}

func (l *lab) write(ctx context.Context, namespace string, number int) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	objects := l.api.CoreV1().ConfigMaps(namespace)
	if number%replaceEvery == 0 {
		_ = objects.Delete(ctx, objectName(number), metav1.DeleteOptions{})
		_ = l.create(ctx, namespace, number)
		return
	}
	patch := fmt.Appendf(nil, `{"data":{"changed":"%d"}}`, time.Now().UnixNano())
	_, _ = objects.Patch(ctx, objectName(number), types.MergePatchType, patch, metav1.PatchOptions{})
}
