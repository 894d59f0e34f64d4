package queries_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// refusedDirectly returns the error of client-go when it reads a log with a token.
func refusedDirectly(ctx context.Context, t *testing.T, token, namespace, pod string, options *corev1.PodLogOptions) metav1.Status {
	t.Helper()
	config := rest.AnonymousClientConfig(kit.Cluster(t).Config)
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
		service := kit.StartForCallers(t, "--write-as", writeAs)
		for _, protocol := range harness.Protocols {
			t.Run(writeAs+" by "+protocol.Name, func(t *testing.T) {
				t.Parallel()
				refuseLogs(kit.NewLogging(t), service, protocol)
			})
		}
	}
}

func refuseLogs(l *kit.Logging, service *harness.Service, protocol harness.Protocol) {
	kit.StartPod(l.Ctx, l.T, l.Kubelet, l.Namespace, "several", "main", "sidecar")
	caller := kit.NewAccount(l.Ctx, l.T, l.Namespace, "reader")
	token := caller.Token()
	client := kit.CallingWith(l.T, service, protocol, token).Pods
	wantRefused := func(t *testing.T, code connect.Code, request *kit.LogRequest, options *corev1.PodLogOptions) {
		t.Helper()
		_, err := kit.ReadLog(l.Ctx, client, request)
		kit.WantError(t, err, code)
		kit.WantSameStatus(t, err, refusedDirectly(l.Ctx, t, token, l.Namespace, request.GetName(), options))
	}
	l.T.Run("no permission", func(t *testing.T) {
		wantRefused(t, connect.CodePermissionDenied, l.Request(), &corev1.PodLogOptions{})
	})
	caller.MayReadLogs(l.Namespace)
	kit.Eventually(l.Ctx, l.T, "the caller has permission to read logs", func() error { _, err := kit.ReadLog(l.Ctx, client, l.Request()); return err })
	for name, test := range map[string]struct {
		pod     string
		code    connect.Code
		change  func(*kit.LogRequest)
		options *corev1.PodLogOptions
	}{
		"no such pod": {"none", connect.CodeNotFound, func(*kit.LogRequest) {}, &corev1.PodLogOptions{}},
		"no such container": {
			"one", connect.CodeInvalidArgument,
			func(r *kit.LogRequest) { r.Container = "none" }, &corev1.PodLogOptions{Container: "none"},
		},
		"several containers": {"several", connect.CodeInvalidArgument, func(*kit.LogRequest) {}, &corev1.PodLogOptions{}},
		"a container that has not started": {
			"several", connect.CodeInvalidArgument,
			func(r *kit.LogRequest) { r.Container = "sidecar" }, &corev1.PodLogOptions{Container: "sidecar"},
		},
		"no previous run": {
			"one", connect.CodeInvalidArgument,
			func(r *kit.LogRequest) { r.Previous = true }, &corev1.PodLogOptions{Previous: true},
		},
		"no seconds": {
			"one", connect.CodeInvalidArgument,
			func(r *kit.LogRequest) { r.SinceSeconds = ptr.To(int64(0)) }, &corev1.PodLogOptions{SinceSeconds: ptr.To(int64(0))},
		},
		"since two times": {
			"one", connect.CodeInvalidArgument,
			func(r *kit.LogRequest) {
				r.SinceSeconds, r.SinceTime = ptr.To(int64(9)), &timestamppb.Timestamp{Seconds: 9}
			},
			&corev1.PodLogOptions{SinceSeconds: ptr.To(int64(9)), SinceTime: ptr.To(metav1.Unix(9, 0))},
		},
		"no bytes": {
			"one", connect.CodeInvalidArgument,
			func(r *kit.LogRequest) { r.LimitBytes = ptr.To(int64(0)) }, &corev1.PodLogOptions{LimitBytes: ptr.To(int64(0))},
		},
		"a negative number of lines": {
			"one", connect.CodeInvalidArgument,
			func(r *kit.LogRequest) { r.TailLines = ptr.To(int64(-1)) }, &corev1.PodLogOptions{TailLines: ptr.To(int64(-1))},
		},
		"a single output, which this cluster does not support": {
			"one", connect.CodeInvalidArgument,
			func(r *kit.LogRequest) { r.Stream = kubeconnectv1.LogStream_LOG_STREAM_STDERR },
			&corev1.PodLogOptions{Stream: ptr.To(corev1.LogStreamStderr)},
		},
	} {
		l.T.Run(name, func(t *testing.T) {
			request := &kit.LogRequest{Namespace: l.Namespace, Name: test.pod}
			test.change(request)
			wantRefused(t, test.code, request, test.options)
		})
	}
}

// TestLogs_EndWithTheirPermission revokes the permission while the log is followed. Later lines are
// not delivered.
func TestLogs_EndWithTheirPermission(t *testing.T) {
	t.Parallel()
	service := kit.StartForCallers(t)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			l := kit.NewLogging(t)
			caller := kit.NewAccount(l.Ctx, t, l.Namespace, "reader")
			caller.MayReadLogs(l.Namespace)
			caller.GrantIn(l.Namespace, "pods", kit.Rule("pods", "get", "list", "watch")) // which does not include logs
			log := l.FollowedBy(kit.CallingWith(t, service, protocol, caller.Token()).Pods)
			caller.RevokeIn(l.Namespace, "logs")
			err := log.End()
			kit.WantError(t, err, connect.CodePermissionDenied, caller.User(), `cannot get resource "pods/log"`, l.Namespace)
			kit.WantStatus(t, err, "Forbidden")
			l.UntilClosed()
		})
	}
}

// TestLogs_EndWithTheCallersCredential lets a token expire while a log is followed, with and
// without new lines.
func TestLogs_EndWithTheCallersCredential(t *testing.T) {
	t.Parallel()
	service := kit.StartForCallers(t)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			l := kit.NewLogging(t)
			caller := kit.NewAccount(l.Ctx, t, l.Namespace, "reader")
			caller.MayReadLogs(l.Namespace)
			log := l.FollowedBy(kit.CallingWith(t, service, protocol, caller.ExpiringToken(time.Now().Add(kit.CredentialLife))).Pods)
			kit.WantError(t, log.End(), connect.CodeUnauthenticated, "the credential has expired")
			l.UntilClosed()
		})
	}
}

// TestLogs_ContinueWhilePermissionsChange makes the service renew the log's access lease
// repeatedly.
func TestLogs_ContinueWhilePermissionsChange(t *testing.T) {
	t.Parallel()
	service, l := kit.StartForCallers(t, "--recheck-interval", "1s"), kit.NewLogging(t)
	caller, other := kit.NewAccount(l.Ctx, t, l.Namespace, "reader"), kit.NewAccount(l.Ctx, t, l.Namespace, "other")
	caller.MayReadLogs(l.Namespace)
	log := l.FollowedBy(kit.CallingWith(t, service, harness.GRPC, caller.Token()).Pods)
	for i := range 10 {
		other.GrantIn(l.Namespace, fmt.Sprintf("other-%d", i), kit.Rule("pods", "get"))
		line := fmt.Sprintf("line %d\n", i)
		l.Log.Write(line)
		log.Want(line)
	}
}
