package bounds

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/structpb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// eachRequest calls visit with an empty message of each request of the API.
func eachRequest(visit func(request protoreflect.Message)) {
	protoregistry.GlobalFiles.RangeFilesByPackage("kubeconnect.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for j := range methods.Len() {
				request, err := protoregistry.GlobalTypes.FindMessageByName(methods.Get(j).Input().FullName())
				if err == nil {
					visit(request.New())
				}
			}
		}
		return true
	})
}

// eachName calls visit with each name in a message and in the messages of its fields, which set sets in the
// whole request.
func eachName(message protoreflect.Message, path string, visit func(path string, limit int, set func(string))) {
	fields := message.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		at := path + "." + string(field.Name())
		limit, isName := maxNames[field.Name()]
		switch {
		case field.Kind() == protoreflect.StringKind && isName && !field.IsList():
			visit(at, limit, func(value string) { message.Set(field, protoreflect.ValueOfString(value)) })
		case field.Message() == nil || field.IsMap() || field.Message().ParentFile().Package() != "kubeconnect.v1":
		case field.IsList():
			list := message.Mutable(field).List()
			eachName(list.AppendMutable().Message(), at, visit)
		default:
			eachName(message.Mutable(field).Message(), at, visit)
		}
	}
}

// TestNames_AreBoundedInEachRequest sets each name of each request to the longest value, and to a longer one, in both
// codecs.
func TestNames_AreBoundedInEachRequest(t *testing.T) {
	seen := 0
	eachRequest(func(request protoreflect.Message) {
		eachName(request, string(request.Descriptor().Name()), func(path string, limit int, set func(string)) {
			seen++
			for length, want := range map[int]bool{limit: true, limit + 1: false} {
				set(strings.Repeat("a", length))
				text := path[strings.LastIndex(path, ".")+1:] + fmt.Sprintf(" has %d bytes: give at most %d", length, limit)
				for codec, err := range decoded(t, request) {
					var invalid *InvalidRequestError
					if want && err != nil || !want && (!errors.As(err, &invalid) || invalid.Message != text) {
						t.Errorf("%s of %d bytes as %s: %v", path, length, codec, err)
					}
				}
			}
			set("a")
		})
	})
	if seen < 50 {
		t.Errorf("only %d names were found", seen)
	}
}

// decoded returns the errors of a request that is decoded, by codec.
func decoded(t *testing.T, request protoreflect.Message) map[string]error {
	t.Helper()
	binary, err := proto.Marshal(request.Interface())
	if err != nil {
		t.Fatal(err)
	}
	text, err := protojson.Marshal(request.Interface())
	if err != nil {
		t.Fatal(err)
	}
	return map[string]error{
		"proto": boundedProto{maxValues: maxValues}.UnmarshalRead(t.Context(), bytes.NewReader(binary), request.New().Interface()),
		"JSON":  strictJSON{maxValues: 2 * maxValues}.UnmarshalRead(t.Context(), bytes.NewBuffer(text), request.New().Interface()),
	}
}

// TestNames_InManifestsAreTheAPIServers has a manifest with members that are called as names.
func TestNames_InManifestsAreTheAPIServers(t *testing.T) {
	long := strings.Repeat("a", maxNameLength+1)
	manifest, err := structpb.NewStruct(map[string]any{"name": long, "namespace": long, "metadata": map[string]any{"name": long}})
	if err != nil {
		t.Fatal(err)
	}
	request := &kubeconnectv1.CreateRequest{Body: &kubeconnectv1.CreateRequest_Struct{Struct: manifest}}
	for codec, err := range decoded(t, request.ProtoReflect()) {
		if err != nil {
			t.Errorf("as %s: %v", codec, err)
		}
	}
}

func TestCheckLength_RejectsLongNames(t *testing.T) {
	for field, limit := range maxNames {
		if err := CheckLength(string(field), strings.Repeat("a", limit)); err != nil {
			t.Errorf("%s: %v", field, err)
		}
		if err := CheckLength(string(field), strings.Repeat("a", limit+1)); !apierrors.IsBadRequest(err) {
			t.Errorf("a longer %s: %v", field, err)
		}
	}
	if err := CheckLength("text", strings.Repeat("a", 1<<20)); err != nil {
		t.Errorf("a field that is no name: %v", err)
	}
}
