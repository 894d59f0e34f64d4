package bounds

import (
	"bytes"
	"encoding/json"
	"math"
	"runtime"
	"strings"
	"testing"

	"connectrpc.com/connect/v2/connectproto"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

// valuesOf returns the number of values in a decoded message.
func valuesOf(message protoreflect.Message) (values int) {
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap():
			value.Map().Range(func(_ protoreflect.MapKey, entry protoreflect.Value) bool {
				values++
				if field.MapValue().Message() != nil {
					values += 1 + valuesOf(entry.Message())
				}
				return true
			})
		case field.IsList():
			values += value.List().Len()
			for i := 0; i < value.List().Len() && field.Message() != nil; i++ {
				values += valuesOf(value.List().Get(i).Message())
			}
		case field.Message() != nil:
			values += 1 + valuesOf(value.Message())
		}
		return true
	})
	return values
}

// countedMessages are requests, and messages with the other kinds of lists and maps.
var countedMessages = []proto.Message{
	&kubeconnectv1.ListRequest{}, &kubeconnectv1.GetLogLinesRequest{}, &kubeconnectv1.WatchManyRequest{}, &kubeconnectv1.CreateRequest{},
	&kubeconnectv1.PatchRequest{}, &kubeconnectv1.WhoAmIResponse{}, &structpb.Value{},
}

// drawMessage fills a message with drawn fields.
func drawMessage(t *rapid.T, message protoreflect.Message, depth int) {
	fields := message.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if depth == 0 && field.Message() != nil || rapid.IntRange(0, 3).Draw(t, "omitted") > 0 {
			continue
		}
		switch {
		case field.IsMap():
			entries := message.Mutable(field).Map()
			for range rapid.IntRange(0, 3).Draw(t, "entries") {
				key := protoreflect.ValueOfString(rapid.StringN(0, 2, 4).Draw(t, "key")).MapKey()
				if field.MapValue().Message() != nil {
					drawMessage(t, entries.Mutable(key).Message(), depth-1)
				}
			}
		case field.IsList():
			list := message.Mutable(field).List()
			for range rapid.IntRange(0, 3).Draw(t, "elements") {
				if field.Message() != nil {
					drawMessage(t, list.AppendMutable().Message(), depth-1)
				} else {
					list.Append(list.NewElement())
				}
			}
		case field.Message() != nil:
			drawMessage(t, message.Mutable(field).Message(), depth-1)
		case field.Kind() == protoreflect.StringKind:
			message.Set(field, protoreflect.ValueOfString("x"))
		}
	}
}

func TestCountValues_EqualsWhatDecodingCreates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		message := proto.Clone(rapid.SampledFrom(countedMessages).Draw(t, "message"))
		drawMessage(t, message.ProtoReflect(), 6)
		data, err := proto.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		decoded := message.ProtoReflect().New()
		if err := proto.Unmarshal(data, decoded.Interface()); err != nil {
			t.Fatal(err)
		}
		if got, want := countValues(data, decoded.Descriptor(), math.MaxInt), valuesOf(decoded); got != want {
			t.Errorf("counts %d, want %d in %v", got, want, message)
		}
	})
}

func TestCountValues_OfAnyBytesIsNotBelowWhatDecodingCreates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		message := rapid.SampledFrom(countedMessages).Draw(t, "message").ProtoReflect().New()
		data := rapid.SliceOf(rapid.SampledFrom([]byte{0, 1, 2, 3, 4, 8, 0x0a, 0x10, 0x12, 0x1a, 0x2a, 0x32, 0x3a, 0x80})).Draw(t, "data")
		_ = proto.Unmarshal(data, message.Interface())
		if got, created := countValues(data, message.Descriptor(), math.MaxInt), valuesOf(message); got < created {
			t.Errorf("counts %d, but decoding creates %d", got, created)
		}
	})
}

func TestCountValues_CountsTheElementsOfPackedFields(t *testing.T) {
	for kind, want := range map[protoreflect.Kind]int{
		protoreflect.EnumKind: 3, protoreflect.Fixed32Kind: 2, protoreflect.DoubleKind: 1, protoreflect.StringKind: 1, protoreflect.BytesKind: 1,
	} {
		if got := elements([]byte{1, 0x80, 1, 0xff, 0xff, 0xff, 0xff, 1}, kind); got != want {
			t.Errorf("%s: counts %d, want %d", kind, got, want)
		}
	}
}

func TestCountJSONValues_IgnoresStrings(t *testing.T) {
	for text, want := range map[string]int{
		``: 0, `0`: 0, `{}`: 1, `[0,0,0]`: 3, `{"a":[{},{}],"b":1}`: 6, `"{[,"`: 0, `"\"{[,"`: 0, `["\\",{}]`: 3, `["{`: 1, `["\`: 1,
	} {
		if got := countJSONValues([]byte(text), 100); got != want {
			t.Errorf("%s: counts %d, want %d", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOf(rapid.String()).Draw(t, "texts")
		text, err := json.Marshal(append(texts, ""))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := countJSONValues(text, math.MaxInt), 1+len(texts); got != want {
			t.Errorf("%s: counts %d, want %d", text, got, want)
		}
	})
}

// TestDecodedBytes_AreNotBelowWhatDecodingTakes decodes requests that have as many small values as
// allowed, of the kind that grows most.
func TestDecodedBytes_AreNotBelowWhatDecodingTakes(t *testing.T) {
	const watchMany = kubeconnectv1connect.ResourceServiceWatchManyProcedure
	for name, test := range map[string]struct {
		procedure, value string
		values           int
		message          proto.Message
	}{
		"joins":     {kubeconnectv1connect.ResourceServiceListProcedure, "\x82\x01\x00", maxValues, &kubeconnectv1.ListRequest{}},
		"positions": {kubeconnectv1connect.PodServiceGetLogLinesProcedure, "\xaa\x01\x00", maxValues, &kubeconnectv1.GetLogLinesRequest{}},
		"checks":    {kubeconnectv1connect.AccessServiceCheckAccessProcedure, "\x0a\x00", maxValues, &kubeconnectv1.CheckAccessRequest{}},
		"sums":      {kubeconnectv1connect.ResourceServiceCountProcedure, "\x62\x00", maxValues, &kubeconnectv1.CountRequest{}},
		"watches":   {watchMany, "\x0a\x00", maxWatchManyValues, &kubeconnectv1.WatchManyRequest{}},
		"counts":    {watchMany, "\x1a\x00", maxWatchManyValues, &kubeconnectv1.WatchManyRequest{}},
	} {
		t.Run(name, func(t *testing.T) {
			data := strings.Repeat(test.value, test.values)
			taken := memoryOf(func() { mustDecode(t, proto.Unmarshal([]byte(data), test.message)) })
			if weight := DecodedBytes(test.procedure, int64(len(data))); valuesOf(test.message.ProtoReflect()) != test.values || weight < taken {
				t.Errorf("weighs %d, but takes %d", weight, taken)
			}
		})
	}
	list := &structpb.ListValue{}
	data := strings.Repeat("\x0a\x00", maxManifestValues)
	taken := memoryOf(func() { mustDecode(t, proto.Unmarshal([]byte(data), list)) })
	if weight := DecodedBytes(kubeconnectv1connect.ResourceServicePatchProcedure, int64(len(data))); weight < taken {
		t.Errorf("a manifest weighs %d, but takes %d", weight, taken)
	}
	runtime.KeepAlive(list)
}

func mustDecode(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// memoryOf returns the memory that a function allocates and does not release.
func memoryOf(do func()) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	do()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

func TestBoundedProto_DecodesWhatConnectDecodes(t *testing.T) {
	request := &kubeconnectv1.ListRequest{Resource: "pods", Fields: []string{"a", "b"}}
	codec := boundedProto{connectproto.NewBinaryCodec(), 2}
	var data bytes.Buffer
	err := codec.MarshalWrite(t.Context(), &data, request)
	want, _ := proto.Marshal(request)
	if err != nil || !bytes.Equal(data.Bytes(), want) {
		t.Fatalf("encodes %x, %v", data.Bytes(), err)
	}
	got := &kubeconnectv1.ListRequest{}
	if err := codec.UnmarshalRead(t.Context(), &data, got); err != nil || !proto.Equal(got, request) {
		t.Errorf("decodes %v, %v", got, err)
	}
	if err := codec.UnmarshalRead(t.Context(), bytes.NewReader([]byte{0xff}), got); err == nil {
		t.Error("decodes an invalid message")
	}
}
