package object

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// A field that the API server does not know causes one request in a while, for all callers.
func TestSelectableFields_UnknownNamesShareRequests(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		var asked, atOnce atomic.Int32
		fields := NewSelectableFields(widgets, func(context.Context, string) error {
			asked.Add(1)
			if atOnce.Add(1) > 1 {
				t.Error("two concurrent requests")
			}
			defer atOnce.Add(-1)
			time.Sleep(time.Millisecond)
			return apierrors.NewBadRequest("field label not supported")
		})
		queue := fairqueue.New(fairqueue.Limits{Total: 1})
		find := func(caller, field string) error {
			_, err := fields.Find(fairqueue.With(t.Context(), queue, caller), field)
			return err
		}
		var all sync.WaitGroup
		for i := range 10 {
			for range 10 {
				all.Go(func() {
					if err := find(fmt.Sprint("caller-", i), "spec.made.up"); !apierrors.IsBadRequest(err) {
						t.Errorf("error %v", err)
					}
				})
			}
		}
		all.Wait()
		if asked.Load() != 1 {
			t.Errorf("the API server was asked %d times about one field", asked.Load())
		}

		// One caller invents names; another one, who comes later, waits for at most one of them.
		began, refused := time.Now(), atomic.Int32{}
		for i := range 100 {
			all.Go(func() {
				if err := find("hostile", fmt.Sprint("spec.field-", i)); apierrors.IsTooManyRequests(err) {
					refused.Add(1)
				}
			})
		}
		time.Sleep(2 * time.Second)
		waited := time.Now()
		if err := find("good", "spec.other"); !apierrors.IsBadRequest(err) {
			t.Errorf("a well-behaved caller got %v", err)
		}
		if wait := time.Since(waited); wait > 2*time.Second {
			t.Errorf("a well-behaved caller waited for %s", wait)
		}
		all.Wait()
		if got := refused.Load(); got < 80 {
			t.Errorf("%d of 100 invalid names were rejected", got)
		}
		if most := int32(time.Since(began).Seconds()*fieldsPerSecond) + fieldBurst + 2; asked.Load() > most {
			t.Errorf("the API server was asked %d times in %s", asked.Load(), time.Since(began))
		}
		before := asked.Load()
		time.Sleep(fieldMissesRemembered)
		if err := find("good", "spec.made.up"); !apierrors.IsBadRequest(err) || asked.Load() != before+1 {
			t.Errorf("after a while the API server was asked %d times more (%v)", asked.Load()-before, err)
		}
	})
}

// A caller whose turn would come after its deadline does not wait for it.
func TestSelectableFields_TurnAfterTheDeadlineIsADeadlineThatIsExceeded(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		shuttingDown := errors.New("shutting down")
		fields := NewSelectableFields(widgets, func(context.Context, string) error { return nil })
		for i := range fieldBurst {
			if _, err := fields.Find(t.Context(), fmt.Sprint("spec.field-", i)); err != nil {
				t.Fatal(err)
			}
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Second/fieldsPerSecond/2)
		defer cancel()
		if _, err := fields.Find(soon, "spec.late"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before the deadline: %v", err)
		}
		ended, end := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second/fieldsPerSecond/2, func() { end(shuttingDown) })
		if _, err := fields.Find(ended, "spec.late"); !errors.Is(err, shuttingDown) {
			t.Errorf("while it waits for its turn: %v", err)
		}
	})
}

func TestSelectableFields_FailedRequestsAreNotCached(t *testing.T) {
	asked := 0
	fields := NewSelectableFields(widgets, func(context.Context, string) error {
		asked++
		return errors.New("unreachable")
	})
	for range 2 {
		if _, err := fields.Find(t.Context(), "spec.color"); err == nil {
			t.Error("found without a response")
		}
	}
	if asked != 2 {
		t.Errorf("the API server was asked %d times", asked)
	}
}

func TestSelectableFields_SupportedFieldIsRequestedOnce(t *testing.T) {
	asked := 0
	fields := NewSelectableFields(widgets, func(context.Context, string) error { asked++; return nil })
	for range 3 {
		if _, err := fields.Find(t.Context(), "spec.color"); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 1 {
		t.Errorf("the API server was asked %d times", asked)
	}
}

func TestSelectableFields_UnsupportedFieldIsRequestedAgain(t *testing.T) {
	refusal := errors.New("not supported")
	fields := NewSelectableFields(widgets, func(context.Context, string) error { return refusal })
	if _, err := fields.Find(t.Context(), "spec.color"); !errors.Is(err, refusal) {
		t.Errorf("error %v", err)
	}
	refusal = nil // the CRD supports the field meanwhile
	if _, err := fields.Find(t.Context(), "spec.color"); err != nil {
		t.Errorf("error %v", err)
	}
}
