package limits_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
)

// TestReload_ChangesLimitsAndLevelsOfOpenStreams changes the configuration file of a running service
// as a mounted ConfigMap is changed, and by SIGHUP.
func TestReload_ChangesLimitsAndLevelsOfOpenStreams(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
	mounted := newMountedConfig(t)
	mounted.replace("callerMaxStreams: 1\n")
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--config", mounted.path())
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources
	stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace})
	stream.Synced(ctx)
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	kit.WantError(t, kit.UntilSynced(ctx, watching, client), connect.CodeResourceExhausted, "stream limit reached")

	mounted.replace("callerMaxStreams: 2\nlogLevel: debug\n")
	await(ctx, t, service, `msg="configuration reloaded" callerMaxStreams=2 logLevel=debug`)
	if err := kit.UntilSynced(ctx, watching, client); err != nil {
		t.Errorf("a second stream: %v", err)
	}
	kit.WantError(t, kit.UntilSynced(ctx, watching, client), connect.CodeResourceExhausted, "stream limit reached")
	await(ctx, t, service, "level=DEBUG")
	stream.Reaches(ctx, write.Create("after", nil).ResourceVersion)

	mounted.replace("callerMaxStreams: 3\nlogLevels: debug\n")
	hangUp(t, service)
	await(ctx, t, service, "logLevels: unknown field; did you mean logLevel?")
	kit.WantError(t, kit.UntilSynced(ctx, watching, client), connect.CodeResourceExhausted, "stream limit reached")

	mounted.replace("callerMaxStreams: 3\npreload: [pods]\n")
	hangUp(t, service)
	await(ctx, t, service, "fields=[preload]")
	if err := kit.UntilSynced(ctx, watching, client); err != nil {
		t.Errorf("a third stream: %v", err)
	}
	stream.Close()
}

// await waits until the service logs a line with a text.
func await(ctx context.Context, t *testing.T, service *harness.Service, text string) {
	t.Helper()
	if _, err := service.UntilPrints(ctx, func(line string) bool { return strings.Contains(line, text) }); err != nil {
		t.Fatalf("%q is not logged: %v", text, err)
	}
}

func hangUp(t *testing.T, service *harness.Service) {
	t.Helper()
	if err := syscall.Kill(service.PID(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

// mountedConfig is a folder into which a kubelet mounts a ConfigMap: the files are symbolic links to
// those of ..data, which is a link to a folder that is never changed.
type mountedConfig struct {
	t      *testing.T
	folder string
}

func newMountedConfig(t *testing.T) mountedConfig {
	t.Helper()
	m := mountedConfig{t, t.TempDir()}
	m.must(os.Symlink(filepath.Join("..data", "config.yaml"), m.path()))
	return m
}

func (m mountedConfig) path() string { return filepath.Join(m.folder, "config.yaml") }

// replace replaces the file, as the kubelet does.
func (m mountedConfig) replace(fields string) {
	m.t.Helper()
	revision, err := os.MkdirTemp(m.folder, "..revision-")
	m.must(err)
	content := "apiVersion: kubeconnect.io/v1alpha1\nkind: Configuration\n" + fields
	m.must(os.WriteFile(filepath.Join(revision, "config.yaml"), []byte(content), 0o600))
	next := filepath.Join(m.folder, "..data_tmp")
	m.must(os.Symlink(filepath.Base(revision), next))
	m.must(os.Rename(next, filepath.Join(m.folder, "..data")))
}

func (m mountedConfig) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}
