package conditional

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

func TestParseTags_AcceptsTagsOfThisService(t *testing.T) {
	a, b := entityTag{hashOf("state"), hashOf("a")}, entityTag{"", hashOf("b")}
	for name, test := range map[string]struct {
		values []string
		want   []entityTag
	}{
		"none":                        {nil, nil},
		"a tag":                       {[]string{a.String()}, []entityTag{a}},
		"a tag without a state":       {[]string{b.String()}, []entityTag{b}},
		"two tags":                    {[]string{a.String() + ", " + b.String()}, []entityTag{a, b}},
		"two headers":                 {[]string{a.String(), b.String()}, []entityTag{a, b}},
		"a strong form":               {[]string{strings.TrimPrefix(a.String(), "W/")}, []entityTag{a}},
		"any":                         {[]string{"*"}, nil},
		"empty":                       {[]string{""}, nil},
		"the tag of another service":  {[]string{`"5d8c72a5edda8"`}, nil},
		"a tag that a proxy changed":  {[]string{strings.TrimSuffix(a.String(), `"`) + `-gzip"`}, nil},
		"a state without a content":   {[]string{`W/"` + a.state + `."`}, nil},
		"more than what is compared":  {[]string{strings.Repeat(a.String()+",", maxKnownTags+1)}, repeated(a, maxKnownTags)},
		"a content that is too short": {[]string{`W/".abcd"`}, nil},
		"a state that is no hash":     {[]string{`W/"` + "\x01" + "." + a.content + `"`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := parseTags(test.values)
			if len(got) != len(test.want) {
				t.Fatalf("parsed %v, want %v", got, test.want)
			}
			for i, tag := range got {
				if tag != test.want[i] {
					t.Errorf("parsed %v, want %v", tag, test.want[i])
				}
			}
		})
	}
}

func repeated(tag entityTag, count int) (tags []entityTag) {
	for range count {
		tags = append(tags, tag)
	}
	return tags
}

func FuzzParseTags(f *testing.F) {
	f.Add(entityTag{hashOf("state"), hashOf("content")}.String())
	f.Add(`*`)
	f.Add(`W/".", "a,b"`)
	f.Fuzz(func(t *testing.T, value string) {
		for _, tag := range parseTags([]string{value}) {
			if again := parseTags([]string{tag.String()}); len(again) != 1 || again[0] != tag {
				t.Errorf("%q is parsed as %v", tag, again)
			}
		}
	})
}

// unsendable is the stream of a call whose response cannot be encoded.
type unsendable struct{ connect.ServerStream }

func (unsendable) Send(any) error { return errors.New("invalid UTF-8") }

func TestReads_ErrorsOfEncodingHaveNoTag(t *testing.T) {
	r := &read{ServerStream: unsendable{}, header: http.Header{}}
	if err := r.Send(listed(func(*kubeconnectv1.ListResponse) {})); err == nil {
		t.Fatal("the response was sent")
	}
	if r.header.Get("ETag") != "" || r.header.Get("Cache-Control") != "no-store" {
		t.Errorf("the headers are %v", r.header)
	}
}

// listed returns a response as a list of a cache has it.
func listed(change func(*kubeconnectv1.ListResponse)) *kubeconnectv1.ListResponse {
	response := &kubeconnectv1.ListResponse{
		Resource:        &kubeconnectv1.Resource{Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true},
		Objects:         []*kubeconnectv1.Object{{Name: "a", Uid: "1", ResourceVersion: "3"}, {Name: "b", Uid: "2", ResourceVersion: "4"}},
		ResourceVersion: "10",
		Freshness:       &kubeconnectv1.Freshness{LastContactTime: timestamppb.New(timestamppb.Now().AsTime())},
		Source:          kubeconnectv1.Source_SOURCE_CACHE,
	}
	change(response)
	return response
}

func TestContentOf_ChangesWithTheAnswer(t *testing.T) {
	type response = kubeconnectv1.ListResponse
	later := func(r *response) { r.Freshness.LastContactTime.Seconds += 3 }
	stale := func(r *response) { r.Freshness.Stale = true }
	staleLater := func(r *response) { stale(r); later(r) }
	page := func(r *response) { r.NextPageToken = "token" }
	before := func(change func(*response)) *response { return listed(change) }
	for name, test := range map[string]struct {
		before, after *response
		same          bool
	}{
		"the same":                                  {before(func(*response) {}), listed(func(*response) {}), true},
		"a later contact with the API server":       {before(func(*response) {}), listed(later), true},
		"a later version without another object":    {before(func(*response) {}), listed(func(r *response) { r.ResourceVersion = "11" }), true},
		"a later version of a page before others":   {before(page), listed(func(r *response) { page(r); r.ResourceVersion = "11" }), false},
		"another token of the next page":            {before(page), listed(func(r *response) { r.NextPageToken = "other" }), false},
		"a stale cache":                             {before(func(*response) {}), listed(stale), false},
		"a stale cache with a later contact":        {before(stale), listed(staleLater), false},
		"a stale cache that is current again":       {before(stale), listed(later), false},
		"another version of an object":              {before(func(*response) {}), listed(func(r *response) { r.Objects[1].ResourceVersion = "11" }), false},
		"another content at the same version":       {before(func(*response) {}), listed(func(r *response) { r.Objects[1].Content = &kubeconnectv1.Object_Json{Json: []byte("{}")} }), false},
		"a missing object":                          {before(func(*response) {}), listed(func(r *response) { r.Objects = r.Objects[:1] }), false},
		"another order":                             {before(func(*response) {}), listed(func(r *response) { r.Objects[0], r.Objects[1] = r.Objects[1], r.Objects[0] }), false},
		"a warning":                                 {before(func(*response) {}), listed(func(r *response) { r.Warnings = []string{"some namespaces"} }), false},
		"other namespaces":                          {before(func(*response) {}), listed(func(r *response) { r.Namespaces = []string{"shop"} }), false},
		"a warning instead of a namespace":          {before(func(r *response) { r.Namespaces = []string{"a"} }), listed(func(r *response) { r.Warnings = []string{"a"} }), false},
		"objects that are encoded but not decoded":  {before(func(r *response) { encodeObjects(r, "a") }), listed(func(r *response) { encodeObjects(r, "b") }), false},
		"the same objects, encoded but not decoded": {before(func(r *response) { encodeObjects(r, "a") }), listed(func(r *response) { encodeObjects(r, "a") }), true},
		"another source":                            {before(func(*response) {}), listed(func(r *response) { r.Source = kubeconnectv1.Source_SOURCE_API_SERVER }), false},
	} {
		t.Run(name, func(t *testing.T) {
			test.after.GetFreshness().LastContactTime.Nanos = test.before.GetFreshness().GetLastContactTime().GetNanos()
			if same := contentOf("scope", test.before) == contentOf("scope", test.after); same != test.same {
				t.Errorf("the content is the same: %v, want %v", same, test.same)
			}
		})
	}
	if contentOf("one", before(later)) == contentOf("other", before(later)) {
		t.Error("the content is the same in another scope")
	}
}

// encodeObjects replaces the objects of a response by the bytes of one, as for a caller of the
// binary protocol.
func encodeObjects(response *kubeconnectv1.ListResponse, name string) {
	encoded, _ := proto.Marshal(&kubeconnectv1.ListResponse{Objects: []*kubeconnectv1.Object{{Name: name}}})
	response.Objects = nil
	response.ProtoReflect().SetUnknown(encoded)
}

// TestContentOf_DependsOnEveryField sets each field of each response of a read. A field that is not
// part of the hash must be listed here.
func TestContentOf_DependsOnEveryField(t *testing.T) {
	incidental := map[protoreflect.FullName]bool{
		"kubeconnect.v1.ListResponse.resource_version":     true,
		"kubeconnect.v1.CountResponse.resource_version":    true,
		"kubeconnect.v1.GetTableResponse.resource_version": true,
	}
	for _, response := range []proto.Message{
		&kubeconnectv1.GetResponse{}, &kubeconnectv1.ListResponse{}, &kubeconnectv1.CountResponse{}, &kubeconnectv1.GetTableResponse{},
		&kubeconnectv1.ListResourceTypesResponse{}, &kubeconnectv1.GetSchemaResponse{},
		&kubeconnectv1.WhoAmIResponse{}, &kubeconnectv1.CheckAccessResponse{},
	} {
		empty := contentOf("scope", response)
		for fields, i := response.ProtoReflect().Descriptor().Fields(), 0; i < fields.Len(); i++ {
			field, message := fields.Get(i), response.ProtoReflect().New()
			setField(message, field)
			if same := contentOf("scope", message.Interface()) == empty; same != incidental[field.FullName()] {
				t.Errorf("%s: the content is the same: %v", field.FullName(), same)
			}
		}
	}
}

// setField sets a field to another value than its default.
func setField(message protoreflect.Message, field protoreflect.FieldDescriptor) {
	switch {
	case field.IsMap():
		key := protoreflect.ValueOfString("key").MapKey()
		message.Mutable(field).Map().Set(key, message.Mutable(field).Map().NewValue())
	case field.IsList() && field.Message() != nil:
		message.Mutable(field).List().AppendMutable()
	case field.IsList():
		message.Mutable(field).List().Append(protoreflect.ValueOfString("value"))
	case field.Message() != nil:
		message.Mutable(field)
	case field.Kind() == protoreflect.EnumKind:
		message.Set(field, protoreflect.ValueOfEnum(1))
	case field.Kind() == protoreflect.StringKind:
		message.Set(field, protoreflect.ValueOfString("value"))
	default:
		message.Set(field, protoreflect.ValueOfInt64(1))
	}
}

func TestContentOf_ResourceTypesDoNotDependOnTheLastContact(t *testing.T) {
	at := func(seconds int64, stale bool) *kubeconnectv1.ListResourceTypesResponse {
		return &kubeconnectv1.ListResourceTypesResponse{ResourceTypes: []*kubeconnectv1.ResourceType{{Singular: "pod", Cache: &kubeconnectv1.CacheState{
			ObjectCount: 2, Freshness: &kubeconnectv1.Freshness{Stale: stale, LastContactTime: &timestamppb.Timestamp{Seconds: seconds}},
		}}}}
	}
	if contentOf("", at(1, false)) != contentOf("", at(2, false)) {
		t.Error("the content differs after another contact")
	}
	if contentOf("", at(1, false)) == contentOf("", at(1, true)) || contentOf("", at(1, true)) == contentOf("", at(2, true)) {
		t.Error("the content of a stale cache is the same")
	}
	if response := at(1, false); contentOf("", response) == "" || response.GetResourceTypes()[0].GetCache().GetFreshness().GetLastContactTime().GetSeconds() != 1 {
		t.Error("the response was changed")
	}
}

func TestReadsOneCache_OnlyWithFieldsThatSelectObjectsOfOneCache(t *testing.T) {
	for name, test := range map[string]struct {
		request proto.Message
		want    bool
	}{
		"a list":         {&kubeconnectv1.ListRequest{Resource: "pods", Filter: "true", OrderBy: "metadata.name", PageSize: 3, Fields: []string{"spec"}}, true},
		"a count":        {&kubeconnectv1.CountRequest{Resource: "pods", GroupBy: []string{"spec.nodeName"}, MaxGroups: 1}, true},
		"an object":      {&kubeconnectv1.GetRequest{Resource: "pods", Namespace: "default", Name: "a", MetadataOnly: true}, true},
		"a later page":   {&kubeconnectv1.ListRequest{Resource: "pods", PageToken: "token"}, false},
		"a relation":     {&kubeconnectv1.ListRequest{Resource: "pods", Related: &kubeconnectv1.Relation{}}, false},
		"a subresource":  {&kubeconnectv1.GetRequest{Resource: "pods", Subresource: "status"}, false},
		"the API server": {&kubeconnectv1.ListRequest{Resource: "pods", Consistency: kubeconnectv1.Consistency_CONSISTENCY_LATEST}, false},
	} {
		if got := readsOneCache(test.request); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
