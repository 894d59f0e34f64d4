package streamlife

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A client that reads the headers and nothing of the body, over both versions of HTTP.
func TestCoalesceWrites_UnreadStreamsEnd(t *testing.T) {
	for name, version2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			stream := CoalesceWrites(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				message := make([]byte, 1<<20)
				for {
					if _, err := w.Write(message); err != nil {
						ended <- err
						return
					}
					w.(http.Flusher).Flush()
				}
			}), UnreadTimeout{Idle: time.Millisecond})
			server := httptest.NewUnstartedServer(stream)
			server.EnableHTTP2 = version2
			server.StartTLS()
			defer server.Close()
			response, err := server.Client().Get(server.URL)
			if err == nil { // otherwise the response ended before the client read the headers
				defer response.Body.Close()
			}
			select {
			case err := <-ended:
				t.Log(err)
			case <-t.Context().Done():
				t.Fatal("the stream stands still")
			}
		})
	}
}

func TestCoalesceWrites_StreamsThatAreReadContinue(t *testing.T) {
	const messages = 100
	stream := CoalesceWrites(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range messages {
			if _, err := w.Write(make([]byte, 1<<10)); err != nil {
				t.Error(err)
			}
			w.(http.Flusher).Flush()
		}
	}), UnreadTimeout{Idle: time.Minute})
	server := httptest.NewServer(stream)
	defer server.Close()
	response, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || len(body) != messages<<10 {
		t.Errorf("%d bytes, %v", len(body), err)
	}
}

// lateWriter is a ResponseWriter whose deadline is slow to set.
type lateWriter struct {
	*httptest.ResponseRecorder
	entered, goOn chan struct{}
	set           bool
}

func (l *lateWriter) Write(p []byte) (int, error) {
	<-l.entered
	close(l.goOn)
	return len(p), nil
}

func (l *lateWriter) SetWriteDeadline(time.Time) error {
	close(l.entered)
	<-l.goOn
	l.set = true
	return nil
}

// net/http invalidates the ResponseWriter when its handler returns.
func TestCoalesceWrites_HandlersWaitUntilTheirDeadlineIsSet(t *testing.T) {
	late := &lateWriter{ResponseRecorder: httptest.NewRecorder(), entered: make(chan struct{}), goOn: make(chan struct{})}
	CoalesceWrites(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("x"))
		_ = w.(*coalescingWriter).handOn()
		w.(*coalescingWriter).unread.timeout = UnreadTimeout{} // so that the flush at the end does not matter
	}), UnreadTimeout{Idle: time.Millisecond}).ServeHTTP(late, httptest.NewRequest(http.MethodPost, "/", nil))
	if !late.set {
		t.Error("it has returned")
	}
}
