package validate

import (
	"testing"
	"time"
)

func TestMemory_GrowthIsFound(t *testing.T) {
	samples := []Sample{
		{At: began, Bytes: 50 << 20},
		{At: began.Add(time.Second), Bytes: 90 << 20},
		{At: began.Add(2 * time.Second), Bytes: 151 << 20},
	}
	for _, violation := range Memory("stalled clients", samples[:2], 100<<20) {
		t.Error(violation)
	}
	for _, violation := range Memory("stalled clients", nil, 100<<20) {
		t.Error(violation)
	}
	violations := Memory("stalled clients", samples, 100<<20)
	if len(violations) != 1 || violations[0].Guarantee != Bounded || violations[0].Index != 2 {
		t.Errorf("violations %v", violations)
	}
}

func TestHandles_GrowthIsFound(t *testing.T) {
	samples := []Sample{
		{At: began, Goroutines: 100, Files: 10},
		{At: began.Add(time.Second), Goroutines: 119, Files: 29},
		{At: began.Add(2 * time.Second), Goroutines: 120, Files: 10},
		{At: began.Add(3 * time.Second), Goroutines: 90, Files: 30},
	}
	for _, violation := range Handles("clients", samples[:2], 20) {
		t.Error(violation)
	}
	violations := Handles("clients", samples, 20)
	if len(violations) != 2 || violations[0].Index != 2 || violations[1].Index != 3 {
		t.Errorf("violations %v, want one of goroutines and one of files", violations)
	}
}
