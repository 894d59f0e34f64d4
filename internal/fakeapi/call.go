package fakeapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubeconnect/kubeconnect/internal/testobjects"
)

// Calls is a handler that lets a test respond to lists and watches, one after the other.
type Calls chan *Call

// ServeHTTP implements http.Handler. It returns when the test has responded, or when the client has
// disconnected.
func (c Calls) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := &Call{Request: r, writer: w, work: make(chan func())}
	select {
	case c <- call:
		call.serve()
	case <-r.Context().Done():
	}
}

// Next blocks until there is a call, and returns it. It must be of the kind "list", "watch", or
// "watch-list", which is a watch that begins with a list.
func (c Calls) Next(t testing.TB, kind string) *Call {
	t.Helper()
	select {
	case call := <-c:
		if got := call.kind(); got != kind {
			t.Fatalf("the API server got a %s, not a %s: %s", got, kind, call.Request.URL)
		}
		return call
	case <-t.Context().Done():
		t.Fatalf("there was no %s", kind)
	}
	return nil
}

// Call is a pending list or watch. The test writes the response, through functions that the call's
// handler runs.
type Call struct {
	Request *http.Request

	writer http.ResponseWriter
	work   chan func() // closed when the response is complete
}

func (c *Call) serve() {
	for {
		select {
		case work, ok := <-c.work:
			if !ok {
				return
			}
			work()
		case <-c.Request.Context().Done():
			return
		}
	}
}

// Do runs a function in the handler, unless the client has disconnected.
func (c *Call) Do(respond func(http.ResponseWriter)) {
	done := make(chan struct{})
	select {
	case c.work <- func() { defer close(done); respond(c.writer) }:
		<-done
	case <-c.Request.Context().Done():
	}
}

// End completes the response: an API server ends a watch after some minutes.
func (c *Call) End() { close(c.work) }

// Query returns the parameters of the request.
func (c *Call) Query() url.Values { return c.Request.URL.Query() }

func (c *Call) kind() string {
	switch {
	case c.Query().Get("sendInitialEvents") == "true":
		return "watch-list"
	case c.Query().Get("watch") == "true":
		return "watch"
	}
	return "list"
}

// WantsProtobuf reports whether the client accepts protobuf.
func (c *Call) WantsProtobuf() bool {
	return strings.Contains(c.Request.Header.Get("Accept"), runtime.ContentTypeProtobuf)
}

// Refuse responds with an error.
func (c *Call) Refuse(status metav1.Status) {
	c.Do(func(w http.ResponseWriter) { refuse(w, status) })
	c.End()
}

// Respond responds with a value as JSON.
func (c *Call) Respond(value any) {
	c.Do(func(w http.ResponseWriter) { Respond(w, value) })
	c.End()
}

// List responds with a list.
func (c *Call) List(t testing.TB, list runtime.Object) {
	t.Helper()
	contentType, body := runtime.ContentTypeJSON, []byte(nil)
	if c.WantsProtobuf() {
		contentType, body = runtime.ContentTypeProtobuf, testobjects.ProtobufBody(t, list)
	} else {
		body = jsonOf(t, list)
	}
	c.Do(func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(body)
	})
	c.End()
}

// Open sends the header of a watch.
func (c *Call) Open() *Call {
	contentType := runtime.ContentTypeJSON
	if c.WantsProtobuf() {
		contentType = runtime.ContentTypeProtobuf + ";stream=watch"
	}
	c.Do(func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", contentType)
		_ = http.NewResponseController(w).Flush()
	})
	return c
}

// Send sends one event of a watch.
func (c *Call) Send(t testing.TB, eventType watch.EventType, object runtime.Object) *Call {
	t.Helper()
	frame := c.frame(t, eventType, object)
	c.Do(func(w http.ResponseWriter) {
		_, _ = w.Write(frame)
		_ = http.NewResponseController(w).Flush()
	})
	return c
}

// SendSlowly sends one event of a watch in pieces of a size, with a pause before each.
func (c *Call) SendSlowly(t testing.TB, size int, pause time.Duration, eventType watch.EventType, object runtime.Object) {
	t.Helper()
	for piece := range slices.Chunk(c.frame(t, eventType, object), size) {
		time.Sleep(pause)
		c.Do(func(w http.ResponseWriter) {
			_, _ = w.Write(piece)
			_ = http.NewResponseController(w).Flush()
		})
	}
}

func (c *Call) frame(t testing.TB, eventType watch.EventType, object runtime.Object) []byte {
	t.Helper()
	event := &metav1.WatchEvent{Type: string(eventType)}
	var frame bytes.Buffer
	var err error
	if c.WantsProtobuf() {
		event.Object.Raw = testobjects.ProtobufBody(t, object)
		raw := protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme)
		err = raw.Encode(event, protobuf.LengthDelimitedFramer.NewFrameWriter(&frame))
	} else {
		event.Object.Raw = jsonOf(t, object)
		err = json.NewEncoder(&frame).Encode(event)
	}
	if err != nil {
		t.Fatal(err)
	}
	return frame.Bytes()
}

// jsonOf returns the JSON of an object. Objects that have their kind already, such as those of
// custom resources, need not be in client-go's scheme.
func jsonOf(t testing.TB, object runtime.Object) []byte {
	t.Helper()
	if object.GetObjectKind().GroupVersionKind().Empty() {
		return testobjects.JSONOf(t, object)
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
