package limits_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

const (
	// strangersMemory bounds the growth of the service's memory during most of the attacks.
	strangersMemory = 150 << 20
	// strangersLast is the duration of an attack.
	strangersLast  = 4 * time.Second
	unendedBodies  = 200 // on one connection
	bombsAtOnce    = 8
	bombQuestions  = 2_000_000 // in each bomb
	healthWatches  = 300       // on two connections
	closedWindows  = 800       // calls, on four connections
	streamsOfOne   = 200       // on one connection: fewer than a server takes
	healthPadding  = 900 << 10 // in the headers of a watch
	closedPadding  = 300 << 10
	paddingOfField = 8 << 10
	// manyStreams is the number of streams, whose headers are as long as those of callers with long
	// tokens.
	manyStreams = 8_000
	manyPadding = 24 << 10
	// manyMemory bounds the growth for these: 2,048 rejected calls of one address may be unread,
	// and 8,000 leave headers for the garbage collector. With the memory that the service needs
	// anyway it is half of the chart's limit.
	manyMemory = 448 << 20
)

const (
	checkAccessPath = "/kubeconnect.v1.AccessService/CheckAccess"
	healthWatchPath = "/grpc.health.v1.Health/Watch"
)

// strangers are attacks without a credential until the context ends, with bounds of the growth of
// the service's memory.
var strangers = map[string]struct {
	memory int
	attack func(context.Context, *testing.T, *harness.Service)
}{
	"bodies that do not end":                    {strangersMemory, sendUnendedBodies},
	"small bodies with many messages":           {strangersMemory, sendBombs},
	"health watches with large headers":         {strangersMemory, watchHealthInVain},
	"many health watches":                       {manyMemory, watchHealthManyTimes},
	"calls whose responses cannot be sent":      {strangersMemory, callWithoutWindow},
	"many calls whose responses cannot be sent": {manyMemory, callManyTimesWithoutWindow},
}

// TestAttacks_WithoutACredentialHarmNoCaller runs attacks without a credential, from another
// address, next to a good caller.
func TestAttacks_WithoutACredentialHarmNoCaller(t *testing.T) {
	t.Parallel()
	skipWithout(t, floodAddress)
	for _, name := range slices.Sorted(maps.Keys(strangers)) {
		t.Run(name, func(t *testing.T) {
			ctx := kit.Deadline(t)
			service := kit.StartForCallers(t)
			good := newGoodCaller(ctx, t, service)
			good.callFor(ctx, strangersLast/4).wantServed(t)
			before := kit.ResidentMemory(t, service.PID())
			memory := sampleMemory(t, service)
			seen := good.during(ctx, strangersLast, func(ctx context.Context) { strangers[name].attack(ctx, t, service) })
			most := memory.end()
			seen.wantServed(t)
			t.Logf("good caller: %s; %d MiB before, at most %d MiB", seen, before>>20, most>>20)
			if bound := strangers[name].memory; most-before > bound {
				t.Errorf("the service uses %d MiB more than before, want at most %d", (most-before)>>20, bound>>20)
			}
			good.untilServedAsBefore(ctx, t)
		})
	}
}

// sendUnendedBodies sends almost the maximum size of a request, and never its end.
func sendUnendedBodies(ctx context.Context, t *testing.T, service *harness.Service) {
	client := harness.HTTP2From(t, floodAddress)
	client.Transport.(*http.Transport).HTTP2 = &http.HTTP2Config{StrictMaxConcurrentRequests: true}
	part := make([]byte, nearlyTooLarge)
	together(unendedBodies, func(int) {
		for ctx.Err() == nil {
			body := io.MultiReader(bytes.NewReader(part), untilDone{ctx})
			postAsStranger(ctx, t, client, service, body, "")
		}
	})
}

// untilDone is a body that sends nothing more, and does not end.
type untilDone struct{ ctx context.Context }

func (u untilDone) Read([]byte) (int, error) {
	<-u.ctx.Done()
	return 0, context.Cause(u.ctx)
}

// sendBombs sends a few kilobytes that decompress to millions of questions.
func sendBombs(ctx context.Context, t *testing.T, service *harness.Service) {
	client, bomb := harness.HTTP2From(t, floodAddress), compressed(bytes.Repeat([]byte{0x0a, 0x00}, bombQuestions))
	together(bombsAtOnce, func(int) {
		for ctx.Err() == nil {
			postAsStranger(ctx, t, client, service, bytes.NewReader(bomb), "gzip")
		}
	})
}

func compressed(text []byte) []byte {
	var into bytes.Buffer
	writer := gzip.NewWriter(&into)
	_, _ = writer.Write(text) // a write to a buffer never fails
	_ = writer.Close()
	return into.Bytes()
}

// postAsStranger makes a call without a credential, which must be rejected with any error.
func postAsStranger(ctx context.Context, t *testing.T, client *http.Client, service *harness.Service, body io.Reader, encoding string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, service.Address+checkAccessPath, body)
	if err != nil {
		t.Error(err)
		return
	}
	request.Header.Set("Content-Type", "application/proto")
	if encoding != "" {
		request.Header.Set("Content-Encoding", encoding)
	}
	answer, err := client.Do(request)
	if err != nil {
		time.Sleep(noisyRest)
		return
	}
	_ = answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		t.Error("a call without a credential succeeded")
	}
}

// together calls count functions concurrently and waits for all of them.
func together(count int, call func(i int)) {
	var calling sync.WaitGroup
	for i := range count {
		calling.Go(func() { call(i) })
	}
	calling.Wait()
}

// watchHealthInVain watches the service's health, with headers of the maximum length.
func watchHealthInVain(ctx context.Context, t *testing.T, service *harness.Service) {
	openRaw(ctx, t, service, healthWatches, healthWatchPath, healthPadding)
}

func watchHealthManyTimes(ctx context.Context, t *testing.T, service *harness.Service) {
	openRaw(ctx, t, service, manyStreams, healthWatchPath, manyPadding)
}

// callWithoutWindow makes calls that are rejected with a body, which the flow-control window does
// not let through.
func callWithoutWindow(ctx context.Context, t *testing.T, service *harness.Service) {
	openRaw(ctx, t, service, closedWindows, kit.WatchPath, closedPadding, "content-type", "application/connect+proto")
}

func callManyTimesWithoutWindow(ctx context.Context, t *testing.T, service *harness.Service) {
	openRaw(ctx, t, service, manyStreams, kit.WatchPath, manyPadding, "content-type", "application/connect+proto")
}

// openRaw opens streams on connections without a flow-control window, and leaves them open.
func openRaw(ctx context.Context, t *testing.T, service *harness.Service, count int, path string, padding int, headers ...string) {
	if len(headers) == 0 {
		headers = []string{"content-type", "application/grpc+proto", "te", "trailers"}
	}
	for range padding / paddingOfField {
		headers = append(headers, "x-padding", strings.Repeat("~", paddingOfField))
	}
	together(count/streamsOfOne+1, func(i int) {
		conn := dialRaw(t, service)
		defer conn.close()
		for range min(streamsOfOne, count-i*streamsOfOne) {
			if ctx.Err() != nil || conn.post(service, path, enveloped(nil), headers...) != nil {
				break // the service has closed the connection, which is allowed
			}
		}
		<-ctx.Done()
	})
}
