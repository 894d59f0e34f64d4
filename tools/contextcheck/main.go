// Contextcheck reports functions that have a context and call others of this repository that make a context
// of their own, instead of passing it on: what they wait for does not end with the call.
//
// It is github.com/kkHAIKE/contextcheck without its knowledge of other modules: a library that takes no context,
// such as log/slog, is no fault of its caller. A function that must outlive its caller's context has
// //nolint:contextcheck in its comment, with the reason.
package main

import (
	"github.com/kkHAIKE/contextcheck"
	"golang.org/x/tools/go/analysis/singlechecker"
)

func main() {
	singlechecker.Main(contextcheck.NewAnalyzer(contextcheck.Configuration{DisableFact: true}))
}
