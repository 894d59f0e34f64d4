package kubejson

import (
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/informerhub/internal/kubejson/samples"
)

func TestAppend_ErrorLeavesTheBufferUnchanged(t *testing.T) {
	for name, test := range map[string]struct {
		kind    schema.GroupVersionKind
		message string
		want    string
	}{
		"a kind that client-go does not know": {schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, "", "no kind"},
		"a kind without a protobuf form":      {schema.GroupVersionKind{Version: runtime.APIVersionInternal, Kind: "WatchEvent"}, "", "no protobuf form"},
		"a message that ends too early":       {podKind, "\x0a\x05", "unexpected EOF"},
		"a field of another type":             {podKind, "\x08\x05", "wrong wireType"},
		"a quantity that is none": {
			schema.GroupVersionKind{Version: "v1", Kind: "ResourceQuota"},
			"\x12\x0f\x0a\x0d\x0a\x03cpu\x12\x06\x0a\x04none", "quantities must match",
		},
	} {
		t.Run(name, func(t *testing.T) {
			buffer := append(make([]byte, 0, 64), "before"...)
			got, err := Append(buffer, test.kind, []byte(test.message))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
			if string(got) != "before" {
				t.Errorf("left %q", got)
			}
		})
	}
}

func TestAppend_EmptyMessageHasNoContent(t *testing.T) {
	for _, kind := range samples.Kinds() {
		checkDirect(t, kind, nil)
	}
}

// TestAppend_IsSafeForConcurrentFirstUse is for the race detector.
func TestAppend_IsSafeForConcurrentFirstUse(t *testing.T) {
	message := podMessage(t)
	roots.mu.Lock()
	roots.messages = nil
	roots.known.Store(nil)
	roots.mu.Unlock()
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for _, kind := range samples.Kinds()[:20] {
				check(t, kind, nil)
			}
			check(t, podKind, message)
		})
	}
	wait.Wait()
}

// TestAppend_AllocatesNothing except the bytes that it returns.
func TestAppend_AllocatesNothing(t *testing.T) {
	message := podMessage(t)
	buffer, err := Append(nil, podKind, message)
	if err != nil {
		t.Fatal(err)
	}
	if got := testing.AllocsPerRun(100, func() { buffer, _ = Append(buffer[:0], podKind, message) }); got >= 1 {
		t.Errorf("%v allocations for a pod", got)
	}
}
