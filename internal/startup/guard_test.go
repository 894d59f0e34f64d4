package startup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// server is an API server that answers a question, and says whether it is ready.
type server struct {
	mu        sync.Mutex // guards the fields below
	readiness int        // the status of /readyz
	checks    string     // its body
	allows    bool
	asked     []string // paths, since they were taken
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.URL.Path)
	switch {
	case r.URL.Path == "/readyz":
		w.WriteHeader(s.readiness)
		_, _ = w.Write([]byte(s.checks))
	case !s.allows:
		w.WriteHeader(http.StatusForbidden)
	}
}

func (s *server) set(readiness int, allows bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readiness, s.allows = readiness, allows
}

func (s *server) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// asking asks the server through a guard, over one connection until that is closed.
type asking struct {
	*server
	*Guard
	http *http.Client
}

func newAsking(t *testing.T) *asking {
	t.Helper()
	s := &server{readiness: http.StatusInternalServerError}
	listening := httptest.NewServer(s)
	t.Cleanup(listening.Close)
	httpClient := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(httpClient.CloseIdleConnections)
	client, err := rest.UnversionedRESTClientForConfigAndClient(&rest.Config{
		Host: listening.URL, QPS: -1, ContentConfig: rest.ContentConfig{NegotiatedSerializer: scheme.Codecs.WithoutConversion()},
	}, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	return &asking{s, New(client), httpClient}
}

// ask asks, and returns whether the answer is a denial.
func (a *asking) ask(t *testing.T) (denied bool, err error) {
	t.Helper()
	err = a.Ask(t.Context(), func(ctx context.Context) (bool, error) {
		var status int
		err := a.client.Get().AbsPath("/question").MaxRetries(0).Do(ctx).StatusCode(&status).Error()
		denied = status == http.StatusForbidden
		if denied {
			err = nil
		}
		return denied, err
	})
	return denied, err
}

func (a *asking) want(t *testing.T, denied bool, failure error, asked ...string) {
	t.Helper()
	got, err := a.ask(t)
	if !errors.Is(err, failure) || err == nil && got != denied {
		t.Errorf("denied: %t, %v; want %t, %v", got, err, denied, failure)
	}
	if paths := a.take(); !slices.Equal(paths, asked) {
		t.Errorf("asked %q, want %q", paths, asked)
	}
}

func TestGuard_BelievesADenialWhenTheAPIServerIsReady(t *testing.T) {
	a := newAsking(t)
	a.want(t, false, ErrStarting, "/question", "/readyz")
	a.set(http.StatusForbidden, false) // it does not know yet who may see whether it is ready
	a.want(t, false, ErrStarting, "/question", "/readyz")
	a.set(http.StatusOK, false)
	a.want(t, true, nil, "/question", "/readyz", "/question")
	a.want(t, true, nil, "/question")
	a.set(http.StatusInternalServerError, false) // it was ready before
	a.want(t, true, nil, "/question")
}

func TestGuard_AsksAgainOverEachNewConnection(t *testing.T) {
	a := newAsking(t)
	a.set(http.StatusOK, false)
	a.want(t, true, nil, "/question", "/readyz", "/question")
	a.http.CloseIdleConnections()
	a.set(http.StatusInternalServerError, false)
	a.want(t, false, ErrStarting, "/question", "/readyz")
}

func TestGuard_TheAnswerAfterTheStartCounts(t *testing.T) {
	a := newAsking(t)
	asks := 0
	err := a.Ask(t.Context(), func(ctx context.Context) (bool, error) {
		asks++
		a.set(http.StatusOK, asks > 1) // it has become ready meanwhile
		var status int
		_ = a.client.Get().AbsPath("/question").MaxRetries(0).Do(ctx).StatusCode(&status)
		return asks == 1, nil
	})
	if err != nil || asks != 2 {
		t.Errorf("asked %d times, %v", asks, err)
	}
}

func TestGuard_BelievesAPermissionAtOnce(t *testing.T) {
	a := newAsking(t)
	a.set(http.StatusInternalServerError, true)
	a.want(t, false, nil, "/question")
}

func TestGuard_BelievesAnAPIServerThatIsNeverReadyAfterATime(t *testing.T) {
	a := newAsking(t)
	a.maxStart = 0
	a.want(t, true, nil, "/question")
}

func TestGuard_BelievesAnAPIServerWithoutReadiness(t *testing.T) {
	a := newAsking(t)
	a.set(http.StatusNotFound, false)
	a.want(t, true, nil, "/question", "/readyz", "/question")
}

func TestGuard_AnAPIServerThatHasLostItsStoreHasStarted(t *testing.T) {
	for checks, starts := range map[string]bool{
		"[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n":                                           false,
		"[+]ping ok\n[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\n[-]etcd failed: reason withheld\n": true,
		"[+]ping ok\n[-]informer-sync failed: reason withheld\n":                                                       true,
	} {
		a := newAsking(t)
		a.checks = checks
		if denied, err := a.ask(t); errors.Is(err, ErrStarting) != starts || !starts && !denied {
			t.Errorf("%s: denied: %t, %v", checks, denied, err)
		}
	}
}

func TestGuard_ReturnsTheErrorOfTheQuestion(t *testing.T) {
	a, failure := newAsking(t), errors.New("away")
	if err := a.Ask(t.Context(), func(context.Context) (bool, error) { return true, failure }); !errors.Is(err, failure) {
		t.Errorf("fails with %v", err)
	}
}

func TestGuard_KnowsFewConnections(t *testing.T) {
	a := newAsking(t)
	a.set(http.StatusOK, false)
	for range 2 * maxConnections {
		if _, err := a.ask(t); err != nil {
			t.Fatal(err)
		}
		a.http.CloseIdleConnections()
	}
	if known := len(a.connections); known > maxConnections {
		t.Error(fmt.Sprint(known, " connections are known"))
	}
}
