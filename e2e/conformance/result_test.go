package conformance_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// Ginkgo's states of a test that ran to its end. Every other state is a failure, such as "panicked" or "interrupted".
const (
	passed  = "passed"
	skipped = "skipped" // by a filter if there is no message, otherwise by the test itself
)

// result is what became of one test.
type result struct {
	name     string
	state    string
	duration time.Duration
	message  string // why the test failed, or skipped itself
	position string // of the failure in the source of the test
}

func (r result) failed() bool { return r.state != passed && r.state != skipped }

// specReport is the part of Ginkgo's types.SpecReport that is read.
type specReport struct {
	ContainerHierarchyTexts []string
	LeafNodeType            string
	LeafNodeText            string
	State                   string
	RunTime                 time.Duration
	Failure                 struct {
		Message  string
		Location struct {
			FileName   string
			LineNumber int
		}
	}
}

// readResults reads a report that the program wrote. The results have every test that was not filtered out, and each
// part of the suite that failed, such as its setup.
func readResults(file string) (results []result, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var reports []struct{ SpecReports []specReport }
	if err := json.Unmarshal(text, &reports); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(reports) != 1 {
		return nil, errors.New("the report has not exactly one suite")
	}
	for _, spec := range reports[0].SpecReports {
		if r := spec.result(); spec.ran() || r.failed() {
			results = append(results, r)
		}
	}
	return results, nil
}

// ran reports whether the spec is a test that no filter omitted.
func (s specReport) ran() bool {
	return s.LeafNodeType == "It" && (s.State != skipped || s.Failure.Message != "")
}

func (s specReport) result() result {
	r := result{
		name:  strings.Join(append(s.ContainerHierarchyTexts, s.LeafNodeText), " "),
		state: s.State, duration: s.RunTime, message: s.Failure.Message,
	}
	if s.LeafNodeType != "It" {
		r.name = strings.TrimSpace(s.LeafNodeType + " " + r.name)
	}
	if location := s.Failure.Location; location.FileName != "" {
		_, path, _ := strings.Cut(location.FileName, "/test/e2e/")
		r.position = fmt.Sprintf("%s:%d", path, location.LineNumber)
	}
	return r
}
