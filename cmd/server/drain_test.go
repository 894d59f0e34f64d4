package main

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/kubeconnect/kubeconnect/server/edge/streamlife"
)

// TestDrain_OtherStreamsOfTheConnectionFinish ends one of two streams of an HTTP/2 connection so
// that its client resumes it over another connection.
func TestDrain_OtherStreamsOfTheConnectionFinish(t *testing.T) {
	drain, finish := make(chan struct{}), make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.RemoteAddr+"\n")
		_ = http.NewResponseController(w).Flush()
		switch r.URL.Path {
		case "/drains":
			<-drain
			streamlife.Drain(r.Context())
		case "/goes-on":
			<-finish
			_, _ = io.WriteString(w, "finished")
		}
	})
	listener := listenAnywhere(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serveHTTP(ctx, listener, handler, func() {}) }()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	client := &http.Client{Transport: transport}
	open := func(path string) (address string, rest func() string) {
		t.Helper()
		answer, err := client.Get("http://" + listener.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		address = line(t, answer.Body)
		return address, func() string {
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Error(err)
			}
			return string(text)
		}
	}
	first, ends := open("/drains")
	same, goesOn := open("/goes-on")
	if first != same {
		t.Fatal("two streams use two connections")
	}
	close(drain)
	if text := ends(); text != "" {
		t.Errorf("the stream that ends answers %q", text)
	}
	another := first // the client may see the end of its stream before it sees GOAWAY
	for attempt := 0; another == first && attempt < 1000; attempt++ {
		var rest func() string
		another, rest = open("/next")
		rest()
	}
	if another == first {
		t.Error("the next streams use the same connection")
	}
	close(finish)
	if text := goesOn(); text != "finished" {
		t.Errorf("the stream that continues got %q", text)
	}
	transport.CloseIdleConnections()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func line(t *testing.T, from io.Reader) string {
	t.Helper()
	var text []byte
	for one := make([]byte, 1); ; {
		if _, err := io.ReadFull(from, one); err != nil {
			t.Fatal(err)
		}
		if one[0] == '\n' {
			return string(text)
		}
		text = append(text, one[0])
	}
}
