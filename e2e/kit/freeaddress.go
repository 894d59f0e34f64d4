package kit

import (
	"net"
	"testing"
)

// FreeAddress returns a loopback address, HOST:PORT, at which nothing listens.
func FreeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
