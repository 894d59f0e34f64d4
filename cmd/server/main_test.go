package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// A server that closes a connection before it has read the request waits half a second for the client.
func TestMain(m *testing.M) {
	if os.Getenv(asService) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

func succeeds(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
