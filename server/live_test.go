package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/server/edge"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// slowLists responds to lists on request, and records them.
type slowLists struct {
	begun  chan struct{}
	answer chan struct{} // closed when all lists can return
}

func (l slowLists) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.begun <- struct{}{}
	select {
	case <-l.answer:
	case <-r.Context().Done():
	}
	_ = json.NewEncoder(w).Encode(corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "7"},
	})
}

// TestLiveLists_AreBounded makes more lists than are read at one time. The others wait, and
// a list whose client disconnects ends.
// The lists that are read at one time, and the part of them that one caller can use.
const maxLists, maxCallerLists = 8, 2

func TestLiveLists_AreBounded(t *testing.T) {
	lists := slowLists{begun: make(chan struct{}, 2*maxLists), answer: make(chan struct{})}
	s := newService(t, &servertest.FakeAPI{List: lists}, auth.KubeconfigAuthenticator{})
	list := func(ctx context.Context) error {
		_, err := s.resources.List(ctx, &kubeconnectv1.ListRequest{
			Resource: "pods", Consistency: kubeconnectv1.Consistency_CONSISTENCY_LATEST,
		})
		return err
	}
	var calling sync.WaitGroup
	for range maxLists {
		calling.Go(func() {
			if err := list(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	for range maxLists {
		<-lists.begun
	}
	impatient, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := list(impatient); connect.CodeOf(err) != connect.CodeDeadlineExceeded {
		t.Errorf("one more returned %v", err)
	}
	if count := len(lists.begun); count > 0 {
		t.Errorf("%d more are read", count)
	}
	close(lists.answer)
	calling.Wait()
	if err := list(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// callersByName identifies callers by a header.
type callersByName struct{ *servertest.FakeRights }

func (callersByName) Authenticate(_ context.Context, header http.Header) (auth.Identity, error) {
	return auth.Identity{Username: header.Get("Name")}, nil
}

// TestLiveLists_OneCallerLeavesSlotsForOthers has one caller make more lists than there are slots.
func TestLiveLists_OneCallerLeavesSlotsForOthers(t *testing.T) {
	lists := slowLists{begun: make(chan struct{}, 2*maxLists), answer: make(chan struct{})}
	callers := callersByName{servertest.NewFakeRights(auth.Namespaces{All: true})}
	s := newServiceOf(t, &servertest.FakeAPI{List: lists}, Config{Edge: edge.Config{Authenticator: callers, Limits: gate.Limits{Rate: 1000, Burst: 1000}}, Authorizer: callers})
	var calling sync.WaitGroup
	list := func(name string) {
		calling.Go(func() {
			ctx, call := connect.NewClientContext(t.Context())
			call.RequestHeader().Set("Name", name)
			if _, err := s.resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Consistency: latest}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	for range maxLists + 1 {
		list("many")
	}
	for range maxCallerLists {
		<-lists.begun
	}
	list("one")
	<-lists.begun
	if count := len(lists.begun); count > 0 {
		t.Errorf("%d more are read", count)
	}
	close(lists.answer)
	calling.Wait()
}

// TestGetTable_RejectsPagesThatAreTooLarge has rows of a megabyte each.
func TestGetTable_RejectsPagesThatAreTooLarge(t *testing.T) {
	api := &servertest.FakeAPI{List: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		table := metav1.Table{
			TypeMeta:          metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "Table"},
			ColumnDefinitions: []metav1.TableColumnDefinition{{Name: "Text", Type: "string"}},
		}
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		for range min(limit, 10) {
			table.Rows = append(table.Rows, metav1.TableRow{Cells: []any{strings.Repeat("x", 1<<20)}})
		}
		_ = json.NewEncoder(w).Encode(table)
	})}
	s := newService(t, api, auth.KubeconfigAuthenticator{})
	for size, want := range map[int32]connect.Code{1: 0, 2: 0, 10: connect.CodeResourceExhausted, 0: connect.CodeResourceExhausted} {
		page, err := s.resources.GetTable(t.Context(), &kubeconnectv1.GetTableRequest{Resource: "pods", PageSize: size})
		switch {
		case want == 0 && (err != nil || len(page.GetRows()) != int(size)):
			t.Errorf("of %d rows there are %d, %v", size, len(page.GetRows()), err)
		case want != 0 && connect.CodeOf(err) != want:
			t.Errorf("of %d rows: %v", size, err)
		}
	}
}
