package main

import (
	"testing"

	"go.uber.org/goleak"
)

// A server that closes a connection before it has read the request waits half a second for the client.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}
