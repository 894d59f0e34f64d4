package kubejson

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type textual string

func (textual) MarshalText() ([]byte, error) { return nil, nil }

type byPointer struct{}

func (*byPointer) MarshalJSON() ([]byte, error) { return nil, nil }
func (*byPointer) Unmarshal([]byte) error       { return nil }

type numbers []int32

func (*numbers) Unmarshal([]byte) error { return nil }

// TestBuilder_RejectsUnsupportedTypes has a struct for each case that encoding/json or a
// generated Unmarshal treats in a way that is not implemented here.
func TestBuilder_RejectsUnsupportedTypes(t *testing.T) {
	for name, test := range map[string]struct {
		of   any
		want string
	}{
		"a float": {struct {
			A float64 `json:"a" protobuf:"fixed64,1,opt,name=a"`
		}{}, "not supported"},
		"a number in quotes": {struct {
			A int32 `json:"a,string" protobuf:"varint,1,opt,name=a"`
		}{}, `the option "string"`},
		"no name": {struct {
			A string `protobuf:"bytes,1,opt,name=a"`
		}{}, "no name"},
		"not in the JSON": {struct {
			A string `json:"-" protobuf:"bytes,1,opt,name=a"`
		}{}, "not in the JSON"},
		"not exported": {struct {
			a string
		}{}, "not exported"},
		"no number": {struct {
			A string `json:"a"`
		}{}, "no number"},
		"a very high number": {struct {
			A string `json:"a" protobuf:"bytes,1000000,opt,name=a"`
		}{}, "not a supported field number"},
		"the same number": {struct {
			A string `json:"a" protobuf:"bytes,1,opt,name=a"`
			B string `json:"b" protobuf:"bytes,1,opt,name=b"`
		}{}, "another field has its number"},
		"the same name, inline": {struct {
			metav1.OwnerReference `json:",inline" protobuf:"bytes,1,opt,name=a"`
			B                     string `json:"name" protobuf:"bytes,2,opt,name=b"`
		}{}, "two members"},
		"text of its own": {struct {
			A textual `json:"a" protobuf:"bytes,1,opt,name=a"`
		}{}, "JSON or text form"},
		"JSON of its own, by its pointer": {struct {
			A byPointer `json:"a" protobuf:"bytes,1,opt,name=a"`
		}{}, "JSON or text form"},
		"a message that is a list of numbers": {struct {
			A numbers `json:"a" protobuf:"bytes,1,opt,name=a"`
		}{}, "neither a struct nor"},
		"a list of pointers": {struct {
			A []*metav1.OwnerReference `json:"a" protobuf:"bytes,1,rep,name=a"`
		}{}, "not supported"},
		"a list of lists": {struct {
			A []metav1.Verbs `json:"a" protobuf:"bytes,1,rep,name=a"`
		}{}, "list of lists"},
		"a map by numbers": {struct {
			A map[int32]string `json:"a" protobuf:"bytes,1,rep,name=a"`
		}{}, "not strings"},
		"a map to numbers": {struct {
			A map[string]int32 `json:"a" protobuf:"bytes,1,rep,name=a"`
		}{}, "are numbers"},
		"a message that is left out if it is zero": {struct {
			A metav1.OwnerReference `json:"a,omitzero" protobuf:"bytes,1,opt,name=a"`
		}{}, "omitzero"},
		"an inline pointer": {struct {
			*metav1.OwnerReference `json:",inline" protobuf:"bytes,1,opt,name=a"`
		}{}, "inline, but not a message"},
		"a message without a protobuf form": {struct {
			A struct{} `json:"a" protobuf:"bytes,1,opt,name=a"`
		}{}, "no protobuf form"},
	} {
		t.Run(name, func(t *testing.T) {
			b := builder{built: make(map[reflect.Type]*message)}
			err := b.fields(&message{}, reflect.TypeOf(test.of))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestMessage_RejectsTooManyFields(t *testing.T) {
	m := &message{}
	for number := 1; number <= maxFields; number++ {
		if err := m.add(field{}, number); err != nil {
			t.Fatal(err)
		}
	}
	if m.add(field{}, maxFields+1) == nil {
		t.Error("one more field was accepted")
	}
}
