package server

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
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
	strings.Repeat(`{"a":`, 900) + "1" + strings.Repeat("}", 900),
	`{"a":` + strings.Repeat("[", 999) + strings.Repeat("]", 999) + `}`,
}

func TestAStructOfBytesIsTheOneOfAMap(t *testing.T) {
	for _, text := range structTexts {
		if !checkStruct(t, []byte(text)) {
			t.Errorf("%.80s is no struct", text)
		}
	}
}

func TestAStructIsNotMadeOfWhatIsNone(t *testing.T) {
	deep := strings.Repeat(`{"a":`, maxStructDepth+2) + "1" + strings.Repeat("}", maxStructDepth+2)
	for _, text := range []string{
		``, `null`, `[]`, `1`, `{"a":1e999}`, deep,
		`{`, `{"a`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":"\`, `{"a":nul`, `{"a":[1`, `{"a" 1}`, `{"a":1 "b":2}`, `{"a":x}`,
	} {
		if _, ok := appendStruct(nil, []byte(text)); ok {
			t.Errorf("made one of %.80s", text)
		}
	}
}

func FuzzStructBytes(f *testing.F) {
	for _, text := range structTexts {
		if len(text) < 1<<15 { // larger ones only make it slow
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			appendStruct(nil, text) // must come to an end
			return
		}
		want, err := readStruct(text)
		tooDeep := strings.Count(string(text), "{")+strings.Count(string(text), "[") > maxStructDepth
		isObject := strings.HasPrefix(strings.TrimSpace(string(text)), "{")
		if ok := checkStruct(t, text); !ok && err == nil && isObject && !tooDeep {
			t.Errorf("no struct, but it is %v", want)
		}
	})
}

// checkStruct holds the bytes against what structpb makes of the text; false if there
// are none.
func checkStruct(t *testing.T, text []byte) bool {
	t.Helper()
	content, ok := appendStruct([]byte("before"), text)
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

// BenchmarkStruct makes the Struct of an object both ways, and tells the ratio.
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
		buffer, _ = appendStruct(buffer[:0], text)
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

// usualPod is the JSON of a pod as clusters have them.
func usualPod(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("../informerhub/kubejson/testdata/pod.json")
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		t.Fatal(err)
	}
	return compact.Bytes()
}
