package logs

import (
	"strings"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/loglines"
)

func TestLineSender_OmitsLostNamespaces(t *testing.T) {
	t.Parallel()
	sender := &lineSender{leasedSender: leasedSender{lease: &access.Lease{Scope: servertest.Some("a")}}}
	at := loglines.Position{Time: time.Now(), Ordinal: 1}
	var batch loglines.Batch
	for _, namespace := range []string{"a", "lost", "a"} {
		name := loglines.LogName{Namespace: namespace, Pod: "web"}
		batch.Lines = append(batch.Lines, loglines.SentLine{LogName: name, Line: loglines.Line{Position: at}})
		batch.Events = append(batch.Events, loglines.Event{Type: loglines.Ended, LogName: name, Reason: loglines.PodDeleted})
		batch.Positions = append(batch.Positions, loglines.LogPosition{LogName: name, Position: at})
	}
	batch.Events = append(batch.Events, loglines.Event{Type: loglines.LimitReached}) // of the stream
	response := sender.response(batch)
	if len(response.GetLines()) != 2 || len(response.GetEvents()) != 3 || len(response.GetPositions()) != 2 || strings.Contains(response.String(), "lost") {
		t.Errorf("the response is %v", response)
	}
}

// TestPodChanges_ReadNoLostNamespace loses a pod outside the scope. The test fails if it is read:
// there is no hub.
func TestPodChanges_ReadNoLostNamespace(t *testing.T) {
	t.Parallel()
	key := podKey{"lost", "web"}
	sent := make(chan loglines.Change, 1)
	changes := &podChanges{changes: sent, known: map[podKey]string{key: "uid"}}
	if err := changes.lose(t.Context(), servertest.Some("a"), key); err != nil {
		t.Fatal(err)
	}
	if change := <-sent; change.Gone != loglines.PodNotSelected {
		t.Errorf("the change is %+v", change)
	}
}
