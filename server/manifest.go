package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/structpb"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/jsonscan"
)

// manifest is an object as its writer has written it. It goes to the API server as it is,
// which reads it by the rules that it has for every client.
type manifest struct {
	contentType string
	body        []byte
	head        head
}

// head is what a manifest says of its own place.
type head struct {
	Metadata struct {
		Name            string `json:"name"`
		Namespace       string `json:"namespace"`
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
}

func manifestOfStruct(members *structpb.Struct) (manifest, error) {
	text, err := members.MarshalJSON()
	if err != nil {
		return manifest{}, badRequest("struct is not JSON: %v", err)
	}
	return manifestOfJSON("struct", text)
}

// manifestOfData reads JSON or YAML, as kubectl does: what begins with a brace is JSON.
func manifestOfData(data []byte) (manifest, error) {
	if utilyaml.IsJSONBuffer(data) {
		return manifestOfJSON("data", data)
	}
	if err := checkOneDocument(data); err != nil {
		return manifest{}, err
	}
	m := manifest{contentType: runtime.ContentTypeYAML, body: data}
	text, err := yaml.YAMLToJSON(data)
	if err == nil {
		err = utiljson.Unmarshal(text, &m.head)
	}
	if err != nil {
		return manifest{}, badRequest("data is neither JSON nor YAML of an object: %s", withoutGoTypes(err))
	}
	return m, nil
}

func manifestOfJSON(field string, text []byte) (manifest, error) {
	m := manifest{contentType: runtime.ContentTypeJSON, body: text}
	if err := utiljson.Unmarshal(text, &m.head); err != nil { // as the API server does: by case
		return manifest{}, badRequest("%s is not the JSON of an object: %s", field, withoutGoTypes(err))
	}
	return m, nil
}

// withoutGoTypes returns the text of an error of JSON, without the Go type that has no place
// for a value.
func withoutGoTypes(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	needed := "an object"
	if wrong.Type.Kind() == reflect.String {
		needed = "a string"
	}
	field := strings.Trim(wrong.Field, ".")
	if field == "" {
		field = "it"
	}
	return fmt.Sprintf("%s has the type %s, and must be %s", field, wrong.Value, needed)
}

// checkOneDocument refuses YAML of which all but the first document would be passed over
// in silence.
func checkOneDocument(data []byte) error {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for read := 0; ; {
		document, err := documents.Read()
		if err != nil {
			return nil // the end; what cannot be read is said later
		}
		if saysNothing(document) {
			continue
		}
		if read++; read > 1 {
			return badRequest("data has more than one YAML document: send one object in a call")
		}
	}
}

// saysNothing reports whether a YAML document has nothing but comments and marks.
func saysNothing(document []byte) bool {
	for line := range bytes.Lines(document) {
		line, _, _ = bytes.Cut(bytes.TrimSpace(line), []byte("#"))
		switch line = bytes.TrimSpace(line); string(line) {
		case "", "---", "...":
		default:
			return false
		}
	}
	return true
}

// protobufPrefix is what the API server's envelope begins with.
var protobufPrefix = []byte("k8s\x00")

// manifestOfProtobuf puts a message into the API server's envelope, without a kind: it
// is of the one that the API server wants at that place.
func manifestOfProtobuf(message []byte, resource informerhub.Resource) (manifest, error) {
	if !resource.BuiltIn() {
		return manifest{}, badRequest("%s have no protobuf form: give the object as struct or data", resource.GroupResource())
	}
	enveloped, err := (&runtime.Unknown{Raw: message}).Marshal()
	if err != nil {
		return manifest{}, err
	}
	m := manifest{contentType: runtime.ContentTypeProtobuf, body: append(bytes.Clone(protobufPrefix), enveloped...)}
	object, err := informerhub.ReadObject(m.body)
	if err != nil {
		return manifest{}, badRequest("protobuf is not the message of an object: %v", err)
	}
	m.head.Metadata.Name, m.head.Metadata.Namespace = object.Name(), object.Namespace()
	m.head.Metadata.UID, m.head.Metadata.ResourceVersion = object.UID(), object.ResourceVersion()
	return m, nil
}

// sentBy completes a request of a REST client.
func (m manifest) sentBy(request *rest.Request, options runtime.Object) *rest.Request {
	return request.VersionedParams(options, scheme.ParameterCodec).SetHeader("Content-Type", m.contentType).Body(m.body)
}

// unstructured is the manifest as the dynamic client takes it: with a kind, and the name
// of its place. Fields that stand twice it cannot hold: the API server does not see them,
// and what it would say to them by the level of validation is said here.
func (m manifest) unstructured(ctx context.Context, at target, validation string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	twice, err := m.read(&object.Object)
	switch {
	case err != nil:
		return nil, badRequest("%s: %v", at.resource.GroupResource(), err)
	case len(twice) > 0 && validation == metav1.FieldValidationStrict:
		return nil, badRequest("strict decoding error: %v", errors.Join(twice...))
	case validation != metav1.FieldValidationIgnore:
		warnOf(ctx, twice)
	}
	kind := at.resource.GroupVersionKind()
	if at.subresource == "scale" {
		kind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")
	}
	if object.GetKind() == "" {
		object.SetKind(kind.Kind)
	}
	if object.GetAPIVersion() == "" {
		object.SetAPIVersion(kind.GroupVersion().String())
	}
	if object.GetName() == "" && at.name != "" {
		object.SetName(at.name)
	}
	return object, nil
}

// read reads the members of the object, and answers which of them stand there twice.
func (m manifest) read(members *map[string]any) (twice []error, err error) {
	text := m.body
	switch m.contentType {
	case runtime.ContentTypeProtobuf:
		return nil, errors.New("this cannot be sent as protobuf: give the object as struct or data")
	case runtime.ContentTypeYAML:
		if text, err = yaml.YAMLToJSONStrict(m.body); err != nil {
			twice = append(twice, err)
			text, err = yaml.YAMLToJSON(m.body)
		}
	}
	if err != nil {
		return nil, err
	}
	inJSON, err := kjson.UnmarshalStrict(text, members)
	return append(twice, inJSON...), err
}

// under is the manifest with preconditions, which the API server holds against the
// metadata of what it has.
func (m manifest) under(preconditions *metav1.Preconditions) (manifest, error) {
	wanted, err := m.head.lacks(preconditions)
	if err != nil || len(wanted) == 0 {
		return m, err
	}
	switch m.contentType {
	case runtime.ContentTypeProtobuf:
		m.body, err = withProtobufMetadata(m.body, wanted)
	case runtime.ContentTypeYAML:
		if m.body, err = yaml.YAMLToJSONStrict(m.body); err != nil {
			return m, badRequest("data is not YAML: %v", err)
		}
		m.contentType = runtime.ContentTypeJSON
		fallthrough
	default:
		m.body, err = withMetadata(m.body, wanted)
	}
	return m, err
}

// lacks is what must be added for the preconditions to be said.
func (h head) lacks(preconditions *metav1.Preconditions) (map[string]string, error) {
	wanted := map[string]string{}
	if preconditions == nil {
		return wanted, nil
	}
	for name, both := range map[string]struct {
		said string
		want *string
	}{
		"uid":             {h.Metadata.UID, (*string)(preconditions.UID)},
		"resourceVersion": {h.Metadata.ResourceVersion, preconditions.ResourceVersion},
	} {
		switch {
		case both.want == nil || *both.want == both.said:
		case both.said != "":
			return nil, badRequest("preconditions want metadata.%s %q, and the object says %q: give one of them", name, *both.want, both.said)
		default:
			wanted[name] = *both.want
		}
	}
	return wanted, nil
}

// withMetadata puts members into the metadata of a JSON object, in the place of those of
// their names, and leaves the rest of the text as it is.
func withMetadata(text []byte, members map[string]string) ([]byte, error) {
	at, err := insideMetadata(text)
	if err == nil && at < 0 {
		text = withMember(text, jsonscan.SkipSpace(text, 0)+1, "metadata", []byte("{}"))
		at, err = insideMetadata(text)
	}
	if err != nil {
		return nil, badRequest("metadata: %v", err)
	}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(members))) {
		quoted, err := json.Marshal(members[name])
		if err != nil {
			return nil, err
		}
		text = withMember(text, at, name, quoted)
	}
	return text, nil
}

// withMember puts a member into the object whose brace is before a place: wherever there is
// one of its name, for the last of them is the one that counts, or before all others.
func withMember(text []byte, at int, name string, value []byte) []byte {
	found, first := false, true
	for i := at; ; first = false {
		key, keyEnd, from := jsonscan.NextMember(text, i, first)
		if from == key || from == jsonscan.None {
			break
		}
		to := jsonscan.SkipValue(text, from)
		if jsonscan.Unquote(text[key:keyEnd]) == name {
			found, text, to = true, slices.Replace(bytes.Clone(text), from, to, value...), from+len(value)
		}
		i = to
	}
	if found {
		return text
	}
	member := fmt.Appendf(nil, "%q:%s", name, value)
	if !first {
		member = append(member, ',')
	}
	return slices.Insert(bytes.Clone(text), at, member...)
}

// insideMetadata is the place behind the brace of an object's metadata; negative if it has
// none.
func insideMetadata(text []byte) (at int, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	switch begins, err := decoder.Token(); {
	case err != nil:
		return 0, err
	case begins != json.Delim('{'):
		return 0, fmt.Errorf("it is %v", begins)
	}
	at = -1
	for decoder.More() {
		member, err := decoder.Token()
		if err != nil {
			return 0, err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return 0, err
		}
		switch {
		case member != "metadata":
		case at >= 0:
			return 0, errors.New("it stands there twice")
		case value[0] != '{':
			return 0, fmt.Errorf("it is %s", value)
		default:
			at = int(decoder.InputOffset()) - len(value) + 1
		}
	}
	return at, nil
}

// withProtobufMetadata appends a second metadata to the message in an envelope: the two
// count as one, and what the second has is added to the first.
func withProtobufMetadata(enveloped []byte, members map[string]string) ([]byte, error) {
	const metadata, uid, resourceVersion = 1, 5, 6
	var unknown runtime.Unknown
	if err := unknown.Unmarshal(enveloped[len(protobufPrefix):]); err != nil {
		return nil, err
	}
	var added []byte
	for name, field := range map[string]protowire.Number{"uid": uid, "resourceVersion": resourceVersion} {
		if value, ok := members[name]; ok {
			added = protowire.AppendString(protowire.AppendTag(added, field, protowire.BytesType), value)
		}
	}
	unknown.Raw = protowire.AppendBytes(protowire.AppendTag(unknown.Raw, metadata, protowire.BytesType), added)
	sent, err := unknown.Marshal()
	return append(bytes.Clone(protobufPrefix), sent...), err
}
