// Package queries_test reads: lists, pages, filters, orders, counts, tables, logs, patches and
// several watches in a stream.
package queries_test

import (
	"testing"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }
