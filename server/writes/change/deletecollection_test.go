package change

import (
	"io"
	"runtime"
	"strings"
	"testing"
)

func TestCountItems_OfWhatAnAPIServerResponds(t *testing.T) {
	for text, want := range map[string]int{
		`{"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[{"a":1},{"b":[2,{}]},{}]}`: 3,
		`{"kind":"PodList","items":[]}`:                                  0,
		`{"items":null,"kind":"PodList"}`:                                0,
		`{"kind":"Status","status":"Success","details":{"items":[1,2]}}`: 0,
		`{}`: 0,
	} {
		if got, err := countItems(strings.NewReader(text)); err != nil || got != want {
			t.Errorf("%s: counted %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{``, `{"items":[{"a":1}`, `{"items":[{"a":1},`, `{"metadata":`, `not JSON`} {
		if got, err := countItems(strings.NewReader(text)); err == nil {
			t.Errorf("%q: counted %d", text, got)
		}
	}
}

// The objects of a response are not kept, however many and large they are.
func TestCountItems_KeepsNoItem(t *testing.T) {
	const items, size = 64, 1 << 20
	list, write := io.Pipe()
	go func() {
		item := []byte(`{"data":"` + strings.Repeat("x", size) + `"},`)
		_, _ = io.WriteString(write, `{"items":[`)
		for range items - 1 {
			_, _ = write.Write(item)
		}
		_, _ = io.WriteString(write, `{}]}`)
		_ = write.Close()
	}()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	count, err := countItems(list)
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; err != nil || count != items || allocated > items*size/4 {
		t.Errorf("counted %d items, %v, with %d KiB of %d MiB", count, err, allocated>>10, items*size>>20)
	}
}
