package encode

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

var structTexts = []string{
	`{}`, ` { } `, `{"a":null,"b":true,"c":false,"d":"","e":[],"f":{}}`,
	`{"a":0,"b":-0,"c":1.5e-7,"d":9007199254740993,"e":1E+2}`,
	` { "a" : [ 1 , "x" , [ ] , [ [ null ] ] , { "b" : { } } ] , "c" : "d" } `,
	`{"":"","a\"b\\":"\u003c\u2028\ud83d\ude00\ud800\n","\u0061":"\\"}`,
	"{\"a\":\"\xff\xc3(\",\"\xfe\":1,\"\xfd\":2}",
	`{"a":1,"a":{"b":1},"a":{"c":2}}`,
	`{"long":"` + strings.Repeat("x", 300) + `","list":[` + strings.Repeat(`"y",`, 100) + `1]}`,
	`{"longer":{"in":{"in":"` + strings.Repeat("z", 20000) + `"}}}`,
	`{"longest":{"in":["` + strings.Repeat("z", 3000000) + `"]}}`,
	deepObject(deepestObjects), deepList(deepestLists),
}

// The deepest objects and lists that a Struct can have: see maxStructDepth. Around the inner value,
// an object is three levels and a list is two.
const (
	deepestObjects = (maxStructDepth - 1 - 2) / 3
	deepestLists   = (maxStructDepth - 1 - 2) / 2
)

// deepObject returns nested objects, of the given number of levels.
func deepObject(depth int) string {
	return strings.Repeat(`{"a":`, depth+1) + "1" + strings.Repeat("}", depth+1)
}

func deepList(depth int) string {
	return `{"a":` + strings.Repeat("[", depth) + "1" + strings.Repeat("]", depth) + `}`
}

// TestAppendStruct_NestingIsBounded counts the levels of the messages.
func TestAppendStruct_NestingIsBounded(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		ok   bool
	}{
		"objects":         {deepObject(deepestObjects), true},
		"one object more": {deepObject(deepestObjects + 1), false},
		"lists":           {deepList(deepestLists), true},
		"one list more":   {deepList(deepestLists + 1), false},
		"many more":       {deepObject(3000), false},
	} {
		t.Run(name, func(t *testing.T) {
			content, ok := appendStruct(nil, []byte(test.text), math.MaxInt32)
			if ok != test.ok {
				t.Fatalf("created: %t, want %t", ok, test.ok)
			}
			if !ok {
				return
			}
			response := &kubeconnectv1.WatchManyResponse{Response: &kubeconnectv1.WatchResponse{
				Events: []*kubeconnectv1.Event{{Object: &kubeconnectv1.Object{Content: &kubeconnectv1.Object_Struct{Struct: &structpb.Struct{}}}}},
			}}
			if err := proto.Unmarshal(content, response.GetResponse().GetEvents()[0].GetObject().GetStruct()); err != nil {
				t.Fatal(err)
			}
			sent, err := proto.Marshal(response)
			if err != nil {
				t.Fatal(err)
			}
			options := proto.UnmarshalOptions{RecursionLimit: 100 + 1} // Go counts the outermost message too
			if err := options.Unmarshal(sent, &kubeconnectv1.WatchManyResponse{}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAppendStruct_LengthIsBounded(t *testing.T) {
	for _, text := range structTexts {
		whole, ok := appendStruct(nil, []byte(text), math.MaxInt32)
		if !ok {
			t.Fatalf("%.80s is not a struct", text)
		}
		if _, ok := appendStruct([]byte("before"), []byte(text), len(whole)); !ok {
			t.Errorf("%.80s does not fit into its %d bytes", text, len(whole))
		}
		if made, ok := appendStruct([]byte("before"), []byte(text), len(whole)-1); ok {
			t.Errorf("%.80s has %d bytes, more than it may", text, len(made))
		}
	}
}

// readStruct creates a Struct by way of a map.
func readStruct(text []byte) (*structpb.Struct, error) {
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, err
	}
	return structpb.NewStruct(members)
}

func TestAppendStruct_MatchesStructsOfMaps(t *testing.T) {
	for _, text := range structTexts {
		if !checkStruct(t, []byte(text)) {
			t.Errorf("%.80s is not a struct", text)
		}
	}
}

func TestAppendStruct_RejectsInvalidContent(t *testing.T) {
	deep := strings.Repeat(`{"a":`, maxStructDepth+2) + "1" + strings.Repeat("}", maxStructDepth+2)
	for _, text := range []string{
		``, `null`, `[]`, `1`, `{"a":1e999}`, deep,
		`{`, `{"a`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":"\`, `{"a":nul`, `{"a":[1`, `{"a" 1}`, `{"a":1 "b":2}`, `{"a":x}`,
	} {
		if _, ok := appendStruct(nil, []byte(text), math.MaxInt32); ok {
			t.Errorf("created one of %.80s", text)
		}
	}
}

func FuzzStructBytes(f *testing.F) {
	for _, text := range structTexts {
		if len(text) < 1<<15 { // larger inputs only make it slow
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			appendStruct(nil, text, math.MaxInt32) // must terminate
			return
		}
		want, err := readStruct(text)
		tooDeep := strings.Count(string(text), "{")+strings.Count(string(text), "[") > deepestObjects
		isObject := strings.HasPrefix(strings.TrimSpace(string(text)), "{")
		if ok := checkStruct(t, text); !ok && err == nil && isObject && !tooDeep {
			t.Errorf("no struct, but it is %v", want)
		}
	})
}

// checkStruct compares the bytes with structpb's result for the JSON. It returns false if there are
// none.
func checkStruct(t *testing.T, text []byte) bool {
	t.Helper()
	content, ok := appendStruct([]byte("before"), text, math.MaxInt32)
	if !ok {
		return false
	}
	var got structpb.Struct
	if err := proto.Unmarshal(content[len("before"):], &got); err != nil {
		t.Fatalf("%v in the bytes of %.80s", err, text)
	}
	want, err := readStruct(text)
	if err != nil || !proto.Equal(&got, want) {
		t.Errorf("%.200s is %.200v, want %.200v (%v)", text, &got, want, err)
	}
	return true
}

// BenchmarkStruct creates the Struct of an object both ways, and reports the ratio.
func BenchmarkStruct(b *testing.B) {
	text := usualPod(b)
	took := make(map[string]time.Duration)
	byMap := func(text []byte) []byte {
		content, _ := readStruct(text)
		encoded, _ := proto.Marshal(content)
		return encoded
	}
	buffer := make([]byte, 0, 2*len(text))
	directly := func(text []byte) []byte {
		buffer, _ = appendStruct(buffer[:0], text, math.MaxInt32)
		return buffer
	}
	for _, way := range []struct {
		name string
		make func([]byte) []byte
	}{{"by a map", byMap}, {"directly", directly}} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				way.make(text)
			}
			took[way.name] = b.Elapsed() / time.Duration(b.N)
		})
	}
	b.Logf("%d bytes of JSON: directly it takes 1/%.1f of the time", len(text), float64(took["by a map"])/float64(took["directly"]))
}

// usualPod is the JSON of a typical pod.
func usualPod(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("../../informerhub/internal/kubejson/testdata/pod.json")
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		t.Fatal(err)
	}
	return compact.Bytes()
}
