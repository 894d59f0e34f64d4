package informerhub

import (
	"errors"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/internal/fakeapi"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// throttled is the Status of an API server that asks to wait.
func throttled(seconds int) *metav1.Status {
	status := apierrors.NewTooManyRequests("the watch cache is behind", seconds).ErrStatus
	status.APIVersion, status.Kind = "v1", "Status"
	return &status
}

// delays rejects a request as a proxy does, which sends no Status.
func delays(call *fakeapi.Call, retryAfter string) {
	call.Do(func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", retryAfter)
		http.Error(w, "slow down", http.StatusTooManyRequests)
	})
	call.End()
}

func TestRetryDelay_IsAsLongAsTheAPIServerAsks(t *testing.T) {
	for name, test := range map[string]struct {
		rejects func(*testing.T, *fakeapi.Server, *fakeapi.Call) // from the first watch-list on
		next    string                                           // kind of the next request
		delay   time.Duration                                    // before it
	}{
		"of a watch-list, in a header": {func(_ *testing.T, _ *fakeapi.Server, call *fakeapi.Call) {
			delays(call, "40")
		}, "watch-list", 40 * time.Second},
		"of a watch-list, in a Status": {func(_ *testing.T, _ *fakeapi.Server, call *fakeapi.Call) {
			call.Refuse(*throttled(40))
		}, "watch-list", 40 * time.Second},
		"of a watch-list, after its objects": {func(t *testing.T, _ *fakeapi.Server, call *fakeapi.Call) {
			call.Open().Send(t, watch.Added, typedPod("a", "3")).Send(t, watch.Error, throttled(40))
		}, "watch-list", 40 * time.Second},
		"of a list": {func(t *testing.T, api *fakeapi.Server, call *fakeapi.Call) {
			call.Refuse(noWatchList)
			delays(api.Next(t, "list"), "40")
		}, "watch-list", 40 * time.Second},
		"of a watch": {func(t *testing.T, _ *fakeapi.Server, call *fakeapi.Call) {
			call.Open().Send(t, watch.Bookmark, bookmarkAt("10")).Send(t, watch.Error, throttled(40))
		}, "watch", 40 * time.Second},
		"for a day": {func(_ *testing.T, _ *fakeapi.Server, call *fakeapi.Call) {
			delays(call, "86400")
		}, "watch-list", maxRetryDelay},
	} {
		t.Run(name, func(t *testing.T) {
			faketime.Test(t, func(t *testing.T) {
				api := fakeapi.New(t, fakeapi.Core)
				_, _, call := stalledHub(t, api)
				test.rejects(t, api, call)
				rejected := time.Now()
				api.Next(t, test.next)
				if waited := time.Since(rejected); waited < test.delay || waited > test.delay+time.Second {
					t.Errorf("the next request comes after %s, want %s", waited, test.delay)
				}
			})
		})
	}
}

func TestRetryDelay_IsKnownToCallers(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		api := fakeapi.New(t, fakeapi.Core)
		hub, first, call := stalledHub(t, api)
		delays(call, "7")
		second := ask(t.Context(), hub, pods)
		delays(api.Next(t, "watch-list"), "40")
		for name, answered := range map[string]<-chan asking{"before": first, "meanwhile": second, "after": ask(t.Context(), hub, pods)} {
			var snapshot *SnapshotError
			if got := <-answered; !errors.As(got.err, &snapshot) || !apierrors.IsTooManyRequests(got.err) || snapshot.RetryAfterSeconds() != 40 {
				t.Errorf("a caller from %s gets %v", name, got.err)
			}
		}
		time.Sleep(35 * time.Second)
		late := ask(t.Context(), hub, pods)
		api.Next(t, "watch-list").Open().Send(t, watch.Bookmark, bookmarkAt("10"))
		must(t, (<-late).err)
	})
}
