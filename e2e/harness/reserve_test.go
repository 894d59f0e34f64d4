package harness

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

func TestReserveAddress_RefusesConnectionsBetweenListeners(t *testing.T) {
	address := ReserveAddress(t)
	for range 2 {
		if _, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("a connection while nobody listens: %v, want ECONNREFUSED", err)
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		connection, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = connection.Close(), listener.Close()
	}
}
