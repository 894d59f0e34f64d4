package informerhub

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxRetryDelay bounds the time for which a list or watch waits because the API server has asked for it.
const maxRetryDelay = time.Minute

// retryDelay makes an upstream wait before its next list or watch for as long as the API server has asked for, by the response 429 with a
// time. The Reflector alone would wait for a time of its own. The zero value does not wait. Its methods are safe for
// concurrent use.
type retryDelay struct {
	mu    sync.Mutex // guards until
	until time.Time
}

type retryDelayKey struct{}

// trace returns the context of a request whose response is noted.
func (d *retryDelay) trace(ctx context.Context) context.Context {
	return context.WithValue(ctx, retryDelayKey{}, d)
}

// noteThrottling takes the retry time from the header of a response. client-go would wait for as long, without a bound, repeat the request up
// to ten times, and report nothing meanwhile.
func noteThrottling(request *http.Request, response *http.Response) {
	d, ok := request.Context().Value(retryDelayKey{}).(*retryDelay)
	if !ok || response.StatusCode != http.StatusTooManyRequests {
		return
	}
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	d.extend(seconds)
	response.Header.Del("Retry-After")
}

// extend makes the next request wait for seconds from now.
func (d *retryDelay) extend(seconds int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	seconds = min(seconds, int(maxRetryDelay/time.Second))
	until := time.Now().Add(time.Duration(seconds) * time.Second)
	if until.After(d.until) {
		d.until = until
	}
}

// after returns the time at which a request can be repeated that has failed with an error; false if the API server has not asked to wait.
func (d *retryDelay) after(err error) (time.Time, bool) {
	if !apierrors.IsTooManyRequests(err) {
		return time.Time{}, false
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		d.extend(seconds)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.until, time.Now().Before(d.until)
}

// wait blocks until a request can be sent. It fails if the context ends before.
func (d *retryDelay) wait(ctx context.Context) error {
	d.mu.Lock()
	left := time.Until(d.until)
	d.mu.Unlock()
	if left <= 0 {
		return nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
