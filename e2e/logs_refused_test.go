package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// mayReadLogs grants an account the permissions of a reader of logs.
func (a account) mayReadLogs(namespace string) {
	a.t.Helper()
	a.grantIn(namespace, "logs", rule("pods/log", "get"))
}

// refusedDirectly returns the error of client-go when it reads a log with a token.
func refusedDirectly(ctx context.Context, t *testing.T, token, namespace, pod string, options *corev1.PodLogOptions) metav1.Status {
	t.Helper()
	config := rest.AnonymousClientConfig(cluster(t).Config)
	config.BearerToken = token
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	body, err := client.CoreV1().Pods(namespace).GetLogs(pod, options).Stream(ctx)
	if err == nil {
		_ = body.Close()
	}
	var refused apierrors.APIStatus
	if !errors.As(err, &refused) {
		t.Fatalf("client-go: %v", err)
	}
	return refused.Status()
}

// TestLogs_ReturnTheAPIServersErrors sends requests that the API server or the
// node rejects, and compares the errors with those of client-go.
func TestLogs_ReturnTheAPIServersErrors(t *testing.T) {
	t.Parallel()
	for _, writeAs := range []string{"token", "impersonate"} {
		service := startForCallers(t, "--write-as", writeAs)
		for _, protocol := range harness.Protocols {
			t.Run(writeAs+" by "+protocol.Name, func(t *testing.T) {
				t.Parallel()
				refuseLogs(newLogging(t), service, protocol)
			})
		}
	}
}

func refuseLogs(l *logging, service *harness.Service, protocol harness.Protocol) {
	startPod(l.ctx, l.t, l.kubelet, l.namespace, "several", "main", "sidecar")
	caller := newAccount(l.ctx, l.t, l.namespace, "reader")
	token := caller.token()
	client := callingWith(l.t, service, protocol, token).Pods
	wantRefused := func(t *testing.T, code connect.Code, request *logRequest, options *corev1.PodLogOptions) {
		t.Helper()
		_, err := readLog(l.ctx, client, request)
		wantError(t, err, code)
		wantSameStatus(t, err, refusedDirectly(l.ctx, t, token, l.namespace, request.GetName(), options))
	}
	l.t.Run("no permission", func(t *testing.T) {
		wantRefused(t, connect.CodePermissionDenied, l.request(), &corev1.PodLogOptions{})
	})
	caller.mayReadLogs(l.namespace)
	eventually(l.ctx, l.t, "the caller has permission to read logs", func() error { _, err := readLog(l.ctx, client, l.request()); return err })
	for name, test := range map[string]struct {
		pod     string
		code    connect.Code
		change  func(*logRequest)
		options *corev1.PodLogOptions
	}{
		"no such pod": {"none", connect.CodeNotFound, func(*logRequest) {}, &corev1.PodLogOptions{}},
		"no such container": {
			"one", connect.CodeInvalidArgument,
			func(r *logRequest) { r.Container = "none" }, &corev1.PodLogOptions{Container: "none"},
		},
		"several containers": {"several", connect.CodeInvalidArgument, func(*logRequest) {}, &corev1.PodLogOptions{}},
		"a container that has not started": {
			"several", connect.CodeInvalidArgument,
			func(r *logRequest) { r.Container = "sidecar" }, &corev1.PodLogOptions{Container: "sidecar"},
		},
		"no previous run": {
			"one", connect.CodeInvalidArgument,
			func(r *logRequest) { r.Previous = true }, &corev1.PodLogOptions{Previous: true},
		},
		"no seconds": {
			"one", connect.CodeInvalidArgument,
			func(r *logRequest) { r.SinceSeconds = ptr.To(int64(0)) }, &corev1.PodLogOptions{SinceSeconds: ptr.To(int64(0))},
		},
		"since two times": {
			"one", connect.CodeInvalidArgument,
			func(r *logRequest) {
				r.SinceSeconds, r.SinceTime = ptr.To(int64(9)), &timestamppb.Timestamp{Seconds: 9}
			},
			&corev1.PodLogOptions{SinceSeconds: ptr.To(int64(9)), SinceTime: ptr.To(metav1.Unix(9, 0))},
		},
		"no bytes": {
			"one", connect.CodeInvalidArgument,
			func(r *logRequest) { r.LimitBytes = ptr.To(int64(0)) }, &corev1.PodLogOptions{LimitBytes: ptr.To(int64(0))},
		},
		"a negative number of lines": {
			"one", connect.CodeInvalidArgument,
			func(r *logRequest) { r.TailLines = ptr.To(int64(-1)) }, &corev1.PodLogOptions{TailLines: ptr.To(int64(-1))},
		},
		"a single output, which this cluster does not support": {
			"one", connect.CodeInvalidArgument,
			func(r *logRequest) { r.Stream = kubeconnectv1.LogStream_LOG_STREAM_STDERR },
			&corev1.PodLogOptions{Stream: ptr.To(corev1.LogStreamStderr)},
		},
	} {
		l.t.Run(name, func(t *testing.T) {
			request := &logRequest{Namespace: l.namespace, Name: test.pod}
			test.change(request)
			wantRefused(t, test.code, request, test.options)
		})
	}
}

// TestLogs_EndWithTheirPermission revokes the permission while the log is followed. Later lines are
// not delivered.
func TestLogs_EndWithTheirPermission(t *testing.T) {
	t.Parallel()
	service := startForCallers(t)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			l := newLogging(t)
			caller := newAccount(l.ctx, t, l.namespace, "reader")
			caller.mayReadLogs(l.namespace)
			caller.grantIn(l.namespace, "pods", rule("pods", "get", "list", "watch")) // which does not include logs
			log := l.followedBy(callingWith(t, service, protocol, caller.token()).Pods)
			caller.revokeIn(l.namespace, "logs")
			err := log.end()
			wantError(t, err, connect.CodePermissionDenied, caller.user(), `cannot get resource "pods/log"`, l.namespace)
			wantStatus(t, err, "Forbidden")
			l.untilClosed()
		})
	}
}

// followedBy follows the log as soon as the caller's permissions are effective, and reads its first
// line.
func (l *logging) followedBy(client podClient) *logStream {
	l.t.Helper()
	l.log.Write("first\n")
	eventually(l.ctx, l.t, "the caller has permission to read the log", func() error { _, err := readLog(l.ctx, client, l.request()); return err })
	log := openLog(l.ctx, l.t, client, l.following())
	log.want("first\n")
	return log
}

// TestLogs_EndWithTheCallersCredential lets a token expire while a log is followed, with and
// without new lines.
func TestLogs_EndWithTheCallersCredential(t *testing.T) {
	t.Parallel()
	service := startForCallers(t)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			l := newLogging(t)
			caller := newAccount(l.ctx, t, l.namespace, "reader")
			caller.mayReadLogs(l.namespace)
			log := l.followedBy(callingWith(t, service, protocol, caller.expiringToken(time.Now().Add(credentialLife))).Pods)
			wantError(t, log.end(), connect.CodeUnauthenticated, "the credential has expired")
			l.untilClosed()
		})
	}
}

// TestLogs_ContinueWhilePermissionsChange makes the service renew the log's access lease
// repeatedly.
func TestLogs_ContinueWhilePermissionsChange(t *testing.T) {
	t.Parallel()
	service, l := startForCallers(t, "--recheck-interval", "1s"), newLogging(t)
	caller, other := newAccount(l.ctx, t, l.namespace, "reader"), newAccount(l.ctx, t, l.namespace, "other")
	caller.mayReadLogs(l.namespace)
	log := l.followedBy(callingWith(t, service, harness.GRPC, caller.token()).Pods)
	for i := range 10 {
		other.grantIn(l.namespace, fmt.Sprintf("other-%d", i), rule("pods", "get"))
		line := fmt.Sprintf("line %d\n", i)
		l.log.Write(line)
		log.want(line)
	}
}
