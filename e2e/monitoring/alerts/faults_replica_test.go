package alerts_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func theOnlyReplicaEnds(ctx context.Context, t *testing.T) *prometheus {
	replica := startReplica(ctx, t, "a")
	p := startPrometheus(t, replica.target)
	stop(t, replica)
	p.untilFiring(t, "KubeconnectDown")
	return p
}

func oneOfTwoReplicasEnds(ctx context.Context, t *testing.T) *prometheus {
	staying, ending := startReplica(ctx, t, "a"), startReplica(ctx, t, "b")
	p := startPrometheus(t, staying.target, ending.target)
	startLoad(t, clientOf(t, staying.Service), clientOf(t, ending.Service))
	stop(t, ending)
	p.untilFiring(t, "KubeconnectReplicaDown")
	return p
}

func stop(t *testing.T, ending *replica) {
	t.Helper()
	if err := ending.Stop(); err != nil {
		t.Errorf("a replica exited: %v", err)
	}
}

// aReplicaRestartsRepeatedly starts the next process before it ends the last one: the pod is down
// only for a moment.
func aReplicaRestartsRepeatedly(ctx context.Context, t *testing.T) *prometheus {
	running := startReplica(ctx, t, "a")
	p := startPrometheus(t, running.target)
	for range 3 {
		next := startReplica(ctx, t, "a")
		running.target.restarted(t, next.Service)
		next.target = running.target
		stop(t, running)
		running = next
		p.untilScraped(t)
	}
	p.untilFiring(t, "KubeconnectReplicaRestarts")
	return p
}

// theDiskOfTheAuditLogIsFull writes to a device that is always full.
func theDiskOfTheAuditLogIsFull(ctx context.Context, t *testing.T) *prometheus {
	replica := startReplica(ctx, t, "a", "--audit-log", "/dev/full")
	p := startPrometheus(t, replica.target)
	startLoad(t, clientOf(t, replica.Service))
	p.untilFiring(t, "KubeconnectAuditLogFails")
	return p
}

// theConfigurationBecomesInvalid misspells a field of the configuration file of a running replica.
func theConfigurationBecomesInvalid(ctx context.Context, t *testing.T) *prometheus {
	file, write := configFile(t)
	write("callerRequestRate: 100\n")
	replica := startReplica(ctx, t, "a", "--config", file)
	p := startPrometheus(t, replica.target)
	startLoad(t, clientOf(t, replica.Service))
	write("callerRequestsRate: 100\n")
	p.untilFiring(t, "KubeconnectConfigRejected")
	return p
}

// configFile returns the path of a configuration file, and a function that writes it with some fields.
func configFile(t *testing.T) (path string, write func(fields string)) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "config.yaml")
	return path, func(fields string) {
		text := "apiVersion: kubeconnect.io/v1alpha1\nkind: Configuration\n" + fields
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// aCertificateExpiresWithin returns a fault: a certificate that expires within a time of the
// recording.
func aCertificateExpiresWithin(left time.Duration) func(context.Context, *testing.T) *prometheus {
	return func(_ context.Context, t *testing.T) *prometheus {
		certificate, key, err := cert.GenerateSelfSignedCertKeyWithOptions(cert.SelfSignedCertKeyOptions{Host: "127.0.0.1", MaxAge: left / stretch})
		if err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		flags := append([]string{"--tls-cert-file", folder + "/tls.crt", "--tls-private-key-file", folder + "/tls.key"}, withMetrics...)
		if err := errors.Join(os.WriteFile(flags[1], certificate, 0o600), os.WriteFile(flags[3], key, 0o600)); err != nil {
			t.Fatal(err)
		}
		p := startPrometheus(t, newTarget(t, "a", harness.StartService(t, kit.Cluster(t).Kubeconfig, flags...)))
		p.untilFiring(t, path.Base(t.Name()))
		return p
	}
}

func theMemoryLimitIsTooLow(ctx context.Context, t *testing.T) *prometheus {
	p := startPrometheus(t, startReplica(ctx, t, "a", "--memory-limit", "4Mi").target)
	p.untilFiring(t, "KubeconnectMemoryExceeded")
	return p
}

func theMemoryLimitIsAlmostReached(ctx context.Context, t *testing.T) *prometheus {
	p := startPrometheus(t, nearItsLimit(ctx, t).target)
	p.untilFiring(t, "KubeconnectMemoryLow")
	return p
}

// largeSecrets is the number of Secrets of a mebibyte that a replica caches which is near its limit. An
// empty replica needs 12 MB, and a megabyte more or less from one collection to the next, depending on
// the scrape that is under way: its share of the limit would be anything from 80 to 110 %.
const largeSecrets = 40

// nearItsLimit returns an idle replica that needs most of its memory limit. A replica with a limit
// that is too low shows how much it needs, because it has collected all garbage.
func nearItsLimit(ctx context.Context, t *testing.T) *replica {
	t.Helper()
	createSecrets(ctx, t, largeSecrets, 1<<20)
	limit := 4.0 * (1 << 20)
	for ctx.Err() == nil {
		idle := startReplica(ctx, t, "a", "--preload", "secrets", "--memory-limit", fmt.Sprintf("%.0f", limit))
		needed := memoryNeeded(ctx, t, idle)
		if share := needed / limit; share > 0.84 && share < 0.92 {
			return idle
		}
		stop(t, idle)
		limit = needed / 0.88
	}
	t.Fatal("no limit is almost reached")
	return nil
}

// createSecrets creates Secrets of a size in a namespace of their own.
func createSecrets(ctx context.Context, t *testing.T, count, size int) {
	t.Helper()
	secrets := kit.Cluster(t).Client.CoreV1().Secrets(kit.NewNamespace(ctx, t, kit.Cluster(t)))
	for range count {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "large-"}, Data: map[string][]byte{"data": make([]byte, size)}}
		if _, err := secrets.Create(ctx, secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// betweenReadings is longer than the interval at which the service reads its memory.
const betweenReadings = 6 * time.Second

// memoryNeeded returns the memory in bytes that an idle replica needs when it has settled.
func memoryNeeded(ctx context.Context, t *testing.T, idle *replica) (needed float64) {
	t.Helper()
	kit.Eventually(ctx, t, "the replica needs the same memory for some seconds", func() error {
		before := needed
		kit.Last(ctx, betweenReadings)
		needed = idle.target.value(ctx, t, "kubeconnect_memory_needed_bytes")
		if math.Abs(needed-before) > needed/50 {
			return fmt.Errorf("%.0f bytes, before %.0f", needed, before)
		}
		return nil
	})
	return needed
}
