package main

import (
	"slices"
	"testing"
)

func TestSoakTests_AreThoseThatDependOnSOAK(t *testing.T) {
	tests, err := soakTests("..")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"TestSoak_StreamsStayCorrect":                  true,  // SOAK is its duration
		"TestUpgrade_TokensResumeInBothDirections":     true,  // skipped without SOAK
		"TestRandomTraffic_IsDeliveredStepByStep":      true,  // more rounds with SOAK
		"TestInformers_ReportTheDifferencesOfANewList": false, // the same with SOAK
	} {
		if slices.Contains(tests, name) != want {
			t.Errorf("%s depends on SOAK: %v, want %v", name, !want, want)
		}
	}
	if !slices.IsSorted(tests) || len(tests) < 50 {
		t.Errorf("%d tests: %q", len(tests), tests)
	}
}
