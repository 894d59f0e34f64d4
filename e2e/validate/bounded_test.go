package validate

import (
	"testing"
	"time"
)

func TestMemory_GrowthIsFound(t *testing.T) {
	samples := []Sample{{began, 50 << 20}, {began.Add(time.Second), 90 << 20}, {began.Add(2 * time.Second), 151 << 20}}
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
