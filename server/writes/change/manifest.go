package change

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/structpb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/jsonscan"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// Manifest is an object in the form in which the client sent it. It is forwarded to the API server,
// which parses it by the same rules as for every client. Preconditions are added to it, and what
// completeFor describes.
type Manifest struct {
	contentType string
	body        []byte
	Head        Head
}

// Head is the part of a manifest that identifies the object.
type Head struct {
	Metadata struct {
		Name            string `json:"name"`
		Namespace       string `json:"namespace"`
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
}

// ParseStruct returns the manifest of a Struct.
func ParseStruct(members *structpb.Struct) (Manifest, error) {
	text, err := members.MarshalJSON()
	if err != nil {
		return Manifest{}, apierror.BadRequest("struct is not JSON: %v", err)
	}
	return parseJSON("struct", text)
}

// ParseData parses JSON or YAML, as kubectl does: data that begins with a brace is JSON.
func ParseData(data []byte) (Manifest, error) {
	if utilyaml.IsJSONBuffer(data) {
		return parseJSON("data", data)
	}
	if err := checkYAML(data); err != nil {
		return Manifest{}, err
	}
	if err := checkOneDocument(data); err != nil {
		return Manifest{}, err
	}
	m := Manifest{contentType: runtime.ContentTypeYAML, body: data}
	text, err := yaml.YAMLToJSON(data)
	if err == nil {
		err = utiljson.Unmarshal(text, &m.Head)
	}
	if err != nil {
		return Manifest{}, apierror.BadRequest("data is neither JSON nor YAML of an object: %s", withoutGoTypes(err))
	}
	return m, nil
}

// CheckData rejects data of an object that would take too much memory when it is parsed.
func CheckData(data []byte) error {
	if utilyaml.IsJSONBuffer(data) {
		return nil
	}
	return checkYAML(data)
}

// maxYAMLParts bounds the parts of YAML. Its parser takes about 600 bytes for each, so that 4 MiB of short ones would
// take 700 MB. A request has the same bound for the values of a Struct.
const maxYAMLParts = 131_072

// checkYAML rejects YAML with too many entries of lists and maps. It is counted by the characters that begin one, also
// where they are text.
func checkYAML(data []byte) error {
	parts := 0
	for i, b := range data {
		switch b {
		case '[', '{', ',':
			parts++
		case '-', '?', ':':
			if i+1 == len(data) || bytes.IndexByte([]byte(" \t\r\n"), data[i+1]) >= 0 || i > 0 && (data[i-1] == '"' || data[i-1] == '\'') {
				parts++
			}
		}
		if parts > maxYAMLParts {
			return apierror.BadRequest("data has too many entries of lists and maps: as YAML it can have %d; send it as JSON", maxYAMLParts)
		}
	}
	return nil
}

func parseJSON(field string, text []byte) (Manifest, error) {
	m := Manifest{contentType: runtime.ContentTypeJSON, body: text}
	if err := utiljson.Unmarshal(text, &m.Head); err != nil { // case-sensitive, like the API server
		return Manifest{}, apierror.BadRequest("%s is not the JSON of an object: %s", field, withoutGoTypes(err))
	}
	return m, nil
}

// withoutGoTypes returns the message of a JSON error without the name of the Go type that a value
// does not match.
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

// checkOneDocument rejects YAML with several documents, because all but the first would be ignored
// silently.
func checkOneDocument(data []byte) error {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for read := 0; ; {
		document, err := documents.Read()
		if err != nil {
			return nil // the end; invalid YAML is reported later
		}
		if isEmptyDocument(document) {
			continue
		}
		if read++; read > 1 {
			return apierror.BadRequest("data has more than one YAML document: send one object in each call")
		}
	}
}

// isEmptyDocument reports whether a YAML document consists of comments and markers only.
func isEmptyDocument(document []byte) bool {
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

// protobufPrefix begins the API server's envelope.
var protobufPrefix = []byte("k8s\x00")

// ParseProtobuf puts a message into the API server's envelope, without a kind: the API server
// takes the kind that the path of the request expects.
func ParseProtobuf(message []byte, resource informerhub.Resource) (Manifest, error) {
	if !resource.BuiltIn() {
		return Manifest{}, apierror.BadRequest("%s have no protobuf form: give the object as struct or data", resource.GroupResource())
	}
	enveloped, err := (&runtime.Unknown{Raw: message}).Marshal()
	if err != nil {
		return Manifest{}, err
	}
	m := Manifest{contentType: runtime.ContentTypeProtobuf, body: append(bytes.Clone(protobufPrefix), enveloped...)}
	object, err := object.Read(m.body)
	if err != nil {
		return Manifest{}, apierror.BadRequest("protobuf is not the message of an object: %v", err)
	}
	m.Head.Metadata.Name, m.Head.Metadata.Namespace = object.Name(), object.Namespace()
	m.Head.Metadata.UID, m.Head.Metadata.ResourceVersion = object.UID(), object.ResourceVersion()
	return m, nil
}

// addTo completes the request of a change at a target.
func (m Manifest) addTo(request *rest.Request, at Target, options runtime.Object) (*rest.Request, error) {
	m, err := m.completeFor(at)
	return request.VersionedParams(options, scheme.ParameterCodec).SetHeader("Content-Type", m.contentType).Body(m.body), err
}

// WithPreconditions returns the manifest with preconditions in its metadata, which the API server
// compares with the stored object.
func (m Manifest) WithPreconditions(preconditions *metav1.Preconditions) (Manifest, error) {
	required, err := m.Head.missing(preconditions)
	if err != nil || len(required) == 0 {
		return m, err
	}
	m.Head.Metadata.UID = cmp.Or(required["uid"], m.Head.Metadata.UID)
	m.Head.Metadata.ResourceVersion = cmp.Or(required["resourceVersion"], m.Head.Metadata.ResourceVersion)
	if m.contentType == runtime.ContentTypeProtobuf {
		m.body, err = withProtobufMetadata(m.body, required)
		return m, err
	}
	if m, err = m.asJSON(); err == nil {
		m.body, err = withMetadata(m.body, required)
	}
	return m, err
}

// missing returns the metadata to add for the preconditions.
func (h Head) missing(preconditions *metav1.Preconditions) (map[string]string, error) {
	required := map[string]string{}
	if preconditions == nil {
		return required, nil
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
			return nil, apierror.BadRequest("preconditions require metadata.%s %q, but the object has %q: give one of them", name, *both.want, both.said)
		default:
			required[name] = *both.want
		}
	}
	return required, nil
}

// withMetadata sets members of the metadata of a JSON object, and leaves the rest of the text
// unchanged.
func withMetadata(text []byte, members map[string]string) ([]byte, error) {
	at, err := insideMetadata(text)
	if err == nil && at < 0 {
		text = withMember(text, jsonscan.SkipSpace(text, 0)+1, "metadata", []byte("{}"))
		at, err = insideMetadata(text)
	}
	if err != nil {
		return nil, apierror.BadRequest("metadata: %v", err)
	}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(members))) {
		text = withMember(text, at, name, quoted(members[name]))
	}
	return text, nil
}

// withMember sets a member of the JSON object whose brace is before at. If members of that name
// exist, it replaces the value of each, because the last one counts. Otherwise it inserts the
// member before all others.
func withMember(text []byte, at int, name string, value []byte) []byte {
	found, first := false, true
	for i := at; ; first = false {
		key, keyEnd, from := jsonscan.NextMember(text, i, first)
		if from == key || from == jsonscan.None {
			break
		}
		end := jsonscan.SkipValue(text, from)
		if jsonscan.Unquote(text[key:keyEnd]) == name {
			found, text, end = true, slices.Replace(bytes.Clone(text), from, end, value...), from+len(value)
		}
		i = end
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

// insideMetadata returns the offset after the opening brace of an object's metadata, or a negative
// number if there is none.
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
			return 0, errors.New("it is a duplicate field")
		case value[0] != '{':
			return 0, fmt.Errorf("it is %s", value)
		default:
			at = int(decoder.InputOffset()) - len(value) + 1
		}
	}
	return at, nil
}

// withProtobufMetadata appends a second metadata field to the message in an envelope. Parsers merge
// the two fields, so the second one adds to the first.
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
