// Package wire_test records what the service sends: it sends fixed HTTP requests to the real service on a
// real control plane, and compares the responses, byte for byte where they are deterministic, with the files
// of testdata.
//
// Each file has the exchanges of one family, as text: the request after ">", the response after "<", with its
// status, headers in alphabetical order, body or messages, and trailers. Members of JSON and fields of
// protobuf are in the order in which they were sent. What differs from one run to the next is replaced by a
// placeholder such as <time> or <version>; [names] has the rules. The tests use neither the service's own code nor a client of an RPC
// framework, so that they show what replacing one changes.
//
// To record another exchange, add a row to the table of its family, such as reads or requests, and run
//
//	UPDATE=1 E2E=1 go test ./e2e/wire
//
// which writes the files. Read their diff: whatever changes there, changes for every client.
package wire_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }
