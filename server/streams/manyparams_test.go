package streams

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// TestConnectError_OfAWatchOfManySaysWhatIsWrong has a resource with a long name.
func TestConnectError_OfAWatchOfManySaysWhatIsWrong(t *testing.T) {
	err := callerrors.ConnectError(partParams{resource: strings.Repeat("x", 9000)}.errorAt(3, apierror.BadRequest("name is missing")))
	if text := err.Error(); !strings.Contains(text, "watch 3 (xxx") || !strings.HasSuffix(text, "name is missing") {
		t.Errorf("the message is %q", text)
	}
}

// TestWatchSpec_HasTheFieldsOfARequest verifies that a WatchSpec has all fields of a WatchRequest
// except the token, under the same numbers, and that the request of a watch has their values.
func TestWatchSpec_HasTheFieldsOfARequest(t *testing.T) {
	watch := &kubeconnectv1.WatchSpec{}
	fields := watch.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		watch.ProtoReflect().Set(fields.Get(i), someValue(watch.ProtoReflect(), fields.Get(i)))
	}
	watch.OwnResumeToken = "" // the request of a watch has no such field
	request := requestOf(watch, "")
	got, err := protojson.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	want := &kubeconnectv1.WatchSpec{}
	if err := protojson.Unmarshal(got, want); err != nil || !proto.Equal(want, watch) {
		t.Errorf("the request of %v is %v (%v)", watch, request, err)
	}
	for all, i := request.ProtoReflect().Descriptor().Fields(), 0; i < all.Len(); i++ {
		field := fields.ByNumber(all.Get(i).Number())
		if name := all.Get(i).Name(); name != "resume_token" && (field == nil || field.Name() != name) {
			t.Errorf("WatchSpec lacks %s with the number %d", name, all.Get(i).Number())
		}
	}
}

// someValue returns a value of a field that is not the default.
func someValue(of protoreflect.Message, field protoreflect.FieldDescriptor) protoreflect.Value {
	switch {
	case field.IsList() && field.Kind() == protoreflect.MessageKind:
		list := of.NewField(field)
		list.List().AppendMutable()
		return list
	case field.IsList():
		list := of.NewField(field)
		list.List().Append(protoreflect.ValueOfString("a"))
		return list
	case field.Kind() == protoreflect.MessageKind:
		return of.NewField(field)
	case field.Kind() == protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(1)
	case field.Kind() == protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case field.Kind() == protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(1)
	case field.Kind() == protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(1)
	}
	return protoreflect.ValueOfString("a")
}
