package e2e_test

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
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

const (
	// stalledCallers do not read during stalledChanges, of objects of stalledSize:
	// ten times as much as the buffers on the way to one of them take.
	stalledCallers = 20
	stalledChanges = 10_000
	stalledSize    = 4 << 10
	// changedAtOnce is how many of the changes are made before the other callers must
	// have been told of all of them.
	changedAtOnce = 500
	// stalledGrowth is what the memory of the service may grow by meanwhile. What is
	// not read by stalledCallers is several times as much.
	stalledGrowth = 150 << 20
)

// The resource is secrets, for no other test changes them.
func TestScenario07_AReaderThatStallsDelaysNobodyElseAndEndsUpRight(t *testing.T) {
	t.Parallel()
	ctx := deadlineAfter(t, faultPatience)
	written := newChangingSecrets(ctx, t, cluster(t))
	service := harness.StartService(t, cluster(t).Kubeconfig)
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
		memory = append(memory, validate.Sample{At: time.Now(), Bytes: residentMemory(t, service.PID())})
	}
	for i, follower := range stalled {
		if read := follower.Responses() - had[i]; read > 1 { // the one that it was waiting for
			t.Fatalf("%s has read %d responses", "a caller that stalls", read)
		}
	}
	for _, violation := range validate.Memory("callers that stall", memory[windowFilled:], stalledGrowth) {
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

// windowFilled is after how many rounds the service remembers as many changes as it
// will: 16 MiB of objects before and after a change.
const windowFilled = 16 << 20 / (2 * stalledSize) / changedAtOnce

// changingSecrets are objects that are changed again and again, by as many writers.
type changingSecrets struct {
	ctx   context.Context
	t     *testing.T
	in    *harness.Cluster
	now   []*corev1.Secret
	notes *validate.Writes
}

func newChangingSecrets(ctx context.Context, t *testing.T, in *harness.Cluster) *changingSecrets {
	t.Helper()
	namespace := newNamespace(ctx, t, in)
	s := &changingSecrets{ctx: ctx, t: t, in: in, now: make([]*corev1.Secret, writers), notes: validate.NewWrites(namespace)}
	s.write(func(ctx context.Context, i int) (*corev1.Secret, error) {
		return in.Client.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("changing-%d", i)},
			StringData: map[string]string{"filling": strings.Repeat("x", stalledSize)},
		}, metav1.CreateOptions{})
	})
	return s
}

// change makes so many changes, about the same number to each object.
func (s *changingSecrets) change(count int) {
	s.t.Helper()
	for i := 0; i < count; i += writers {
		s.write(func(ctx context.Context, i int) (*corev1.Secret, error) {
			changed := s.now[i].DeepCopy()
			changed.Data["number"] = []byte(changed.ResourceVersion)
			return s.in.Client.CoreV1().Secrets(changed.Namespace).Update(ctx, changed, metav1.UpdateOptions{})
		})
	}
}

// write writes each object once, all at a time.
func (s *changingSecrets) write(one func(ctx context.Context, i int) (*corev1.Secret, error)) {
	s.t.Helper()
	err := createMany(s.ctx, writers, func(ctx context.Context, i int) (err error) {
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
		followers = append(followers, record.Follow(t, fmt.Sprintf("caller %d of %d", i, count), &kubeconnectv1.WatchRequest{
			Resource: "secrets", Namespace: written.now[0].Namespace, Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF,
		}, client))
	}
	for _, follower := range followers {
		follower.Synced(ctx)
	}
	return followers
}

// judge waits until a follower holds what the cluster holds, and judges what it was
// told on the way.
func (s *changingSecrets) judge(follower *record.Follower, evidence validate.Evidence) {
	s.t.Helper()
	follower.Holds(s.ctx, s.notes, nil)
	evidence.Writes = s.notes
	wantNoViolation(s.t, follower.Stop(), evidence)
}
