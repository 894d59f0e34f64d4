package spelling

import "testing"

func TestDistance_IsTheNumberOfEdits(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"pods", "pods", 0}, {"pod", "pods", 1}, {"podz", "pods", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 2}} {
		if got := Distance(test.a, test.b); got != test.want {
			t.Errorf("from %q to %q: %d, want %d", test.a, test.b, got, test.want)
		}
		if Distance(test.a, test.b) != Distance(test.b, test.a) {
			t.Errorf("%q and %q: not symmetric", test.a, test.b)
		}
	}
}

func TestNearest_IsSimilar(t *testing.T) {
	names := []string{"listen", "preload", "uncached", "caller-max-streams"}
	for name, want := range map[string]string{
		"lisen": "listen", "preloads": "preload", "caller-max-stream": "caller-max-streams", "memory": "", "": "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("%q is nearest to %q, want %q", name, got, want)
		}
	}
}
