package change

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/kubeconnect/kubeconnect/informerhub/jsonscan"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// member is a member of an object. Its value is a string.
type member struct{ name, value string }

// completeFor returns the manifest with what callers may omit and the API server requires: the type
// of a custom resource, and the name that the request gives. The API server completes the type of
// built-in kinds itself, so their manifests stay unchanged. The rest of the text stays unchanged.
func (m Manifest) completeFor(at Target) (Manifest, error) {
	if at.Resource.BuiltIn() {
		return m, nil
	}
	if at.Name != "" && m.Head.Metadata.Name == "" {
		var err error
		if m, err = m.asJSON(); err != nil {
			return m, err
		}
		if m.body, err = withMetadata(m.body, map[string]string{"name": at.Name}); err != nil {
			return m, err
		}
	}
	version, kind := at.kind().ToAPIVersionAndKind()
	return m.withMembers([]member{{"apiVersion", version}, {"kind", kind}})
}

// withMembers returns the manifest with the members that it does not have, or that are empty.
func (m Manifest) withMembers(members []member) (Manifest, error) {
	if m.contentType == runtime.ContentTypeYAML {
		added, ok := withYAMLMembers(m.body, members)
		if ok {
			m.body = added
			return m, nil
		}
		var err error
		if m, err = m.asJSON(); err != nil {
			return m, err
		}
	}
	present := map[string]json.RawMessage{}
	if err := utiljson.Unmarshal(m.body, &present); err != nil {
		return m, apierror.BadRequest("data is not the JSON of an object: %v", err)
	}
	if present == nil {
		m.body = []byte("{}") // of an empty document
	}
	for _, member := range members {
		if value := string(present[member.name]); value == "" || value == "null" || value == `""` {
			m.body = withMember(m.body, jsonscan.SkipSpace(m.body, 0)+1, member.name, quoted(member.value))
		}
	}
	return m, nil
}

// asJSON returns the manifest in JSON. It rejects YAML with duplicate fields, which would be lost.
func (m Manifest) asJSON() (Manifest, error) {
	if m.contentType != runtime.ContentTypeYAML {
		return m, nil
	}
	text, err := yaml.YAMLToJSONStrict(m.body)
	if err != nil {
		return m, apierror.BadRequest("data is not YAML: %v", err)
	}
	m.contentType, m.body = runtime.ContentTypeJSON, text
	return m, nil
}

func quoted(text string) []byte {
	written, _ := json.Marshal(text) // cannot fail
	return written
}
