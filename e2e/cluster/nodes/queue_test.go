package nodes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestQueue_RetriesKeysUntilTheySucceed(t *testing.T) {
	turns := playOnce(t, errors.New("no"), errors.New("no"), nil)
	if turns != 3 {
		t.Errorf("%d calls, want 3", turns)
	}
}

func TestQueue_DoesNotRetryDeletedObjects(t *testing.T) {
	turns := playOnce(t, apierrors.NewNotFound(schema.GroupResource{}, "gone"), nil)
	if turns != 1 {
		t.Errorf("%d calls, want 1", turns)
	}
}

// playOnce adds one key, returns these errors from the calls of play, and counts the calls.
func playOnce(t *testing.T, answers ...error) (turns int) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(func(context.Context, string) error {
			turns++
			return answers[turns-1]
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); q.run(ctx) }()
		q.keys.Add("default/pod")
		time.Sleep(time.Minute)
		cancel()
		<-ended
	})
	return turns
}
