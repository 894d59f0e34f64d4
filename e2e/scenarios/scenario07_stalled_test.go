package scenarios_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

const (
	// stalledCallers do not read during stalledChanges changes of objects of stalledSize bytes: ten
	// times as much as the buffers of the connection to one of them hold.
	stalledCallers = 20
	stalledChanges = 10_000
	stalledSize    = 4 << 10
	// changedAtOnce is the number of changes after which the other clients must have received all
	// of them before more are made.
	changedAtOnce = 500
	// stalledGrowth bounds the growth of the service's memory meanwhile. The unread data of
	// stalledCallers is several times as much.
	stalledGrowth = 150 << 20
)

// The resource is secrets, because no other test changes them.
func TestScenario07_StalledReadersDelayNoOthersAndCatchUp(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.FaultPatience)
	written := newChangingSecrets(ctx, t, kit.Cluster(t))
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	reading := followSecrets(ctx, t, service, written, 2)
	stalled := followSecrets(ctx, t, service, written, stalledCallers)
	var had []int
	for _, follower := range stalled {
		follower.Stall()
		had = append(had, follower.Responses())
	}

	var memory []validate.Sample
	for range stalledChanges / changedAtOnce {
		written.change(changedAtOnce)
		for _, follower := range reading {
			follower.Reaches(ctx, written.notes.Newest())
		}
		memory = append(memory, validate.Sample{At: time.Now(), Bytes: kit.ResidentMemory(t, service.PID())})
	}
	for i, follower := range stalled {
		if read := follower.Responses() - had[i]; read > 1 { // the pending read may complete
			t.Fatalf("a stalled client has read %d responses", read)
		}
	}
	for _, violation := range validate.Memory("stalled clients", memory[windowFilled:], stalledGrowth) {
		t.Error(violation)
	}
	t.Logf("memory: %d MiB at first, %d MiB in the end", memory[0].Bytes>>20, memory[len(memory)-1].Bytes>>20)

	for _, follower := range stalled {
		follower.ReadOn()
	}
	for _, follower := range reading {
		written.judge(follower, validate.Evidence{EveryStep: true})
	}
	for _, follower := range stalled {
		written.judge(follower, validate.Evidence{})
	}
}

// windowFilled is the number of rounds after which the service's window is full: 16 MiB of objects
// before and after a change.
const windowFilled = 16 << 20 / (2 * stalledSize) / changedAtOnce

// changingSecrets are objects that are changed repeatedly, with one writer each.
type changingSecrets struct {
	ctx          context.Context
	t            *testing.T
	controlPlane *harness.Cluster
	now          []*corev1.Secret
	notes        *validate.Writes
}

func newChangingSecrets(ctx context.Context, t *testing.T, controlPlane *harness.Cluster) *changingSecrets {
	t.Helper()
	namespace := kit.NewNamespace(ctx, t, controlPlane)
	s := &changingSecrets{ctx: ctx, t: t, controlPlane: controlPlane, now: make([]*corev1.Secret, kit.Writers), notes: validate.NewWrites(namespace)}
	s.write(func(ctx context.Context, i int) (*corev1.Secret, error) {
		return controlPlane.Client.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("changing-%d", i)},
			StringData: map[string]string{"filling": strings.Repeat("x", stalledSize)},
		}, metav1.CreateOptions{})
	})
	return s
}

// change makes count changes, about the same number to each object.
func (s *changingSecrets) change(count int) {
	s.t.Helper()
	for i := 0; i < count; i += kit.Writers {
		s.write(func(ctx context.Context, i int) (*corev1.Secret, error) {
			changed := s.now[i].DeepCopy()
			changed.Data["number"] = []byte(changed.ResourceVersion)
			return s.controlPlane.Client.CoreV1().Secrets(changed.Namespace).Update(ctx, changed, metav1.UpdateOptions{})
		})
	}
}

// write writes each object once, concurrently.
func (s *changingSecrets) write(one func(ctx context.Context, i int) (*corev1.Secret, error)) {
	s.t.Helper()
	err := kit.CreateMany(s.ctx, kit.Writers, func(ctx context.Context, i int) (err error) {
		s.now[i], err = one(ctx, i)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, secret := range s.now {
		s.notes.Add(validate.Write{
			Key: validate.Key{Namespace: secret.Namespace, Name: secret.Name}, UID: string(secret.UID), Version: secret.ResourceVersion,
		})
	}
}

// followSecrets starts followers, each with a connection of its own.
func followSecrets(ctx context.Context, t *testing.T, service *harness.Service, written *changingSecrets, count int) []*record.Follower {
	t.Helper()
	protocols := []harness.Protocol{harness.Connect, harness.GRPC}
	var followers []*record.Follower
	for i := range count {
		client := harness.Dial(harness.HTTP2(t), service.Address, protocols[i%len(protocols)]).Resources
		followers = append(followers, record.Follow(t, fmt.Sprintf("client %d of %d", i, count), &kubeconnectv1.WatchRequest{
			Resource: "secrets", Namespace: written.now[0].Namespace, Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF,
		}, client))
	}
	for _, follower := range followers {
		follower.Synced(ctx)
	}
	return followers
}

// judge blocks until a follower has the objects of the cluster, and validates its recording.
func (s *changingSecrets) judge(follower *record.Follower, evidence validate.Evidence) {
	s.t.Helper()
	follower.Holds(s.ctx, s.notes, nil)
	evidence.Writes = s.notes
	kit.WantNoViolation(s.t, follower.Stop(), evidence)
}
