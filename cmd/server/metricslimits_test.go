package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// dialMetrics opens a connection to the address of metrics until the test ends.
func dialMetrics(t *testing.T, url string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/metrics"))
	succeeds(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// statusOf sends a request with a header of some length, and returns its status; 0 if the connection ends.
func statusOf(conn net.Conn, length int) int {
	if _, err := io.WriteString(conn, "GET /metrics HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", length)+"\r\n\r\n"); err != nil {
		return 0
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return answer.StatusCode
}

func TestMetrics_ConnectionsOfAnAddressAreBounded(t *testing.T) {
	url := startMetrics(t)
	var open []net.Conn
	for range maxMetricsConnectionsOfAddress {
		open = append(open, dialMetrics(t, url))
	}
	if status := statusOf(open[len(open)-1], 1); status != http.StatusOK {
		t.Errorf("a connection within the limit: %d", status)
	}
	for range 3 {
		if status := statusOf(dialMetrics(t, url), 1); status != 0 {
			t.Errorf("a connection above the limit: %d", status)
		}
	}
}

func TestMetrics_HeadersAreBounded(t *testing.T) {
	url := startMetrics(t)
	for length, want := range map[int]int{20 << 10: http.StatusOK, 64 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		if status := statusOf(dialMetrics(t, url), length); status != want {
			t.Errorf("%d bytes: %d, want %d", length, status, want)
		}
	}
}
