package harness

import "testing"

func TestPatience_GrowsWithFewerProcessors(t *testing.T) {
	for name, test := range map[string]struct {
		text  string
		cores int
		race  bool
		want  float64
	}{
		"enough processors":                {cores: 8, want: 1},
		"just enough":                      {cores: 4, want: 1},
		"two":                              {cores: 2, want: 2},
		"one, and the race detector":       {cores: 1, race: true, want: 8},
		"the race detector":                {cores: 16, race: true, want: 2},
		"a given factor replaces all that": {text: "1.5", cores: 1, race: true, want: 1.5},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := patienceFactor(test.text, test.cores, test.race)
			if err != nil || got != test.want {
				t.Errorf("factor %v (%v), want %v", got, err, test.want)
			}
		})
	}
	for _, text := range []string{"0", "-1", "long", "NaN", "Inf", "1001"} {
		if factor, err := patienceFactor(text, 4, false); err == nil {
			t.Errorf("%q is parsed as %v, want an error", text, factor)
		}
	}
}

func TestLimitTests_FollowsTheProcessors(t *testing.T) {
	for cores, want := range map[int]int{1: 3, 2: 6, 3: 8, 64: 8} {
		if got := testsAtOnce(cores); got != want {
			t.Errorf("%d processors run %d tests concurrently, want %d", cores, got, want)
		}
	}
}
