package mask

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"math/rand"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubeconnect/kubeconnect/informerhub/internal/kubejson"
	"github.com/kubeconnect/kubeconnect/informerhub/internal/kubejson/samples"
)

// thorough multiplies the iterations of random tests.
var thorough = flag.Int("thorough", 1, "how many times as much to try at random")

// masksOfAnObject is the number of masks that are tested with each object.
const masksOfAnObject = 4

func TestAppendProtobuf_CutsRandomMessagesLikeJSON(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for _, kind := range samples.Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			for _, nilChance := range []float64{0.1, 0.4, 0.8} {
				filler := samples.NewFiller(1, nilChance)
				for range *thorough {
					checkLaw(t, random, kind, samples.Random(t, filler, kind))
				}
			}
		})
	}
}

func TestAppendProtobuf_CutsSamplesLikeJSON(t *testing.T) {
	random := rand.New(rand.NewSource(2))
	for _, golden := range samples.ReadGolden(t) {
		t.Run(golden.Name, func(t *testing.T) { checkLaw(t, random, golden.Kind, golden.Message) })
	}
}

// checkLaw compares the two forms under random masks: see the guarantee of the package.
func checkLaw(t *testing.T, random *rand.Rand, kind schema.GroupVersionKind, message []byte) {
	t.Helper()
	text, err := kubejson.Append(nil, kind, message)
	if err != nil {
		t.Fatal(err)
	}
	var members any
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	for range masksOfAnObject {
		var paths []Path
		for range 1 + random.Intn(5) {
			paths = append(paths, randomPath(random, members))
		}
		m, err := Of(paths...)
		if err != nil {
			t.Fatal(err)
		}
		checkForms(t, m, kind, message, text)
		checkForms(t, m.KeepingParents(), kind, message, text)
		for _, m := range []*Mask{m, m.KeepingParents()} {
			masked, err := m.AppendJSON(nil, text)
			if err != nil {
				t.Fatal(err)
			}
			checkByOracle(t, m, paths, text, masked)
		}
	}
}

// checkForms cuts a message and its JSON.
func checkForms(t *testing.T, m *Mask, kind schema.GroupVersionKind, message, text []byte) {
	t.Helper()
	masked := m.AppendProtobuf([]byte("before"), kind, message)
	masked, ok := bytes.CutPrefix(masked, []byte("before"))
	if !ok || len(masked) > len(message) {
		t.Errorf("%s under %s: %d bytes are cut to %x", kind, m, len(message), masked)
	}
	checkUnmarshals(t, kind, masked)
	small, err := kubejson.Append(nil, kind, masked)
	if err != nil {
		t.Fatalf("%s under %s: %v", text, m, err)
	}
	got, err := m.AppendJSON(nil, small)
	want, wantErr := m.AppendJSON(nil, text)
	if err != nil || wantErr != nil || !bytes.Equal(got, want) {
		t.Errorf("%s under %s:\nby its message %s, error %v\nby its JSON    %s, error %v\nof %s", kind, m, got, err, want, wantErr, text)
	}
}

func checkUnmarshals(t *testing.T, kind schema.GroupVersionKind, message []byte) {
	t.Helper()
	typed, err := scheme.Scheme.New(kind)
	if err == nil {
		err = typed.(interface{ Unmarshal([]byte) error }).Unmarshal(message)
	}
	if err != nil {
		t.Errorf("%s: %v", kind, err)
	}
}

// randomPath returns a path that usually leads to something in a value.
func randomPath(random *rand.Rand, value any) Path {
	var path Path
	for len(path) == 0 || len(path) < maxDepth && random.Intn(8) > 0 {
		step, next, ok := randomStep(random, value)
		if !ok && len(path) > 0 && random.Intn(8) > 0 {
			break
		}
		path, value = append(path, step), next
	}
	return path
}

func randomStep(random *rand.Rand, value any) (step Step, next any, ok bool) {
	switch value := value.(type) {
	case map[string]any:
		if names := slices.Sorted(maps.Keys(value)); len(names) > 0 && random.Intn(16) > 0 {
			name := names[random.Intn(len(names))]
			return Step{Name: name, Each: random.Intn(8) == 0}.plain(), value[name], true
		}
	case []any:
		if len(value) > 0 && random.Intn(16) > 0 {
			return Step{Each: true}, value[random.Intn(len(value))], true
		}
	}
	return Step{Name: "name", Each: random.Intn(2) == 0}.plain(), nil, false
}

// plain returns the step without ignored fields.
func (s Step) plain() Step {
	if s.Each {
		return Step{Each: true}
	}
	return s
}

func TestAppendProtobuf_CutsOrKeepsOddMessages(t *testing.T) {
	configMap := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	m := parsed(t, "metadata.name", "data.k")
	for name, test := range map[string]struct{ message, want string }{
		"metadata in two parts":  {"\x0a\x03\x0a\x01a\x0a\x06\x0a\x01c\x1a\x01b", "\x0a\x03\x0a\x01a\x0a\x03\x0a\x01c"},
		"a key twice":            {"\x12\x06\x0a\x01k\x12\x01a\x12\x06\x0a\x01k\x12\x01b", "\x12\x06\x0a\x01k\x12\x01a\x12\x06\x0a\x01k\x12\x01b"},
		"a value before its key": {"\x12\x06\x12\x01a\x0a\x01x", "\x12\x06\x12\x01a\x0a\x01x"},
		"an empty entry":         {"\x12\x00", "\x12\x00"},
		"a key beyond its entry": {"\x12\x02\x0a\x03\x1a\x01x", "\x12\x02\x0a\x03\x1a\x01x"},
		"a value beyond its own": {"\x12\x05\x0a\x01k\x12\x03\x1a\x01x", "\x12\x05\x0a\x01k\x12\x03\x1a\x01x"},
		"an unknown field":       {"\xf8\x3f\x01\x0a\x03\x0a\x01a", "\x0a\x03\x0a\x01a"},
		"a group":                {"\xfb\x3f\x08\x01\xfc\x3f\x0a\x00", "\xfb\x3f\x08\x01\xfc\x3f\x0a\x00"},
		"cut off":                {"\x0a\x05\x0a", "\x0a\x05\x0a"},
		"cut off within":         {"\x0a\x03\x0a\x05x", "\x0a\x03\x0a\x05x"},
		"another wire type":      {"\x08\x01\x12\x00", "\x08\x01\x12\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := m.AppendProtobuf(nil, configMap, []byte(test.message)); string(got) != test.want {
				t.Errorf("cut to %q, want %q", got, test.want)
			}
		})
	}
	unknown := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	if got := m.AppendProtobuf(nil, unknown, []byte("\x0a\x00")); string(got) != "\x0a\x00" {
		t.Errorf("a message of an unknown kind is cut to %q", got)
	}
}
