package coverage_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// answer is the response to one of the two clients.
type answer struct {
	Content any
	Failure *failure
}

// failure is the Kubernetes Status of an error.
type failure struct {
	Reason, Message string
	Code            int32
	Group, Kind     string
	Name, UID       string
	Causes          []cause
	RetryAfter      int32
}

type cause struct{ Type, Message, Field string }

// quotedObject matches an object that the API server quotes in an error. The service truncates it
// where the error would be too long to send.
var quotedObject = regexp.MustCompile(`(Invalid value: "(?:[^"\\]|\\.){80})(?:[^"\\]|\\.)*"`)

// shortened returns the failure with the quoted objects truncated.
func (f *failure) shortened() *failure {
	f.Message = quotedObject.ReplaceAllString(f.Message, `$1…"`)
	for i := range f.Causes {
		f.Causes[i].Message = quotedObject.ReplaceAllString(f.Causes[i].Message, `$1…"`)
	}
	return f
}

// mustDiffer maps the names of values that differ between two objects of one recipe to their
// patterns, wherever they are in the JSON of a response. Names and addresses differ too, see
// [variables].
var mustDiffer = map[string]*regexp.Regexp{
	"(a time)":        regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`),
	"(a UID)":         regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`),
	"${1}(a version)": regexp.MustCompile(`(resourceVersion\\*":\\*")\d+`),
	"(a cluster IP)":  regexp.MustCompile(`10\.96\.\d+\.\d+`),
	"(a token)":       regexp.MustCompile(`eyJ[\w-]+\.[\w-]+\.[\w-]+`),
}

// neutral returns the answer with the values that must differ replaced.
func (a answer) neutral(values variables) answer {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	bytes := values.outOf(string(text))
	for instead, differs := range mustDiffer {
		bytes = differs.ReplaceAllString(bytes, instead)
	}
	var without answer
	if err := utiljson.Unmarshal([]byte(bytes), &without); err != nil {
		panic(err)
	}
	inAnyOrder(managers(without.Content)) // their order depends on times
	return without
}

// managers returns an object's managedFields.
func managers(content any) any {
	object, _ := content.(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	return metadata["managedFields"]
}

// withoutManagers removes metadata.managedFields, which the service's reads omit.
func withoutManagers(content any) any {
	switch content := content.(type) {
	case map[string]any:
		if metadata, ok := content["metadata"].(map[string]any); ok {
			delete(metadata, "managedFields")
		}
	case []any:
		for _, item := range content {
			withoutManagers(item)
		}
	}
	return content
}

// inAnyOrder sorts all lists of an answer whose order the API server does not define.
func inAnyOrder(content any) any {
	switch content := content.(type) {
	case map[string]any:
		for _, member := range content {
			inAnyOrder(member)
		}
	case []any:
		for _, item := range content {
			inAnyOrder(item)
		}
		slices.SortFunc(content, func(a, b any) int { return bytes.Compare(text(a), text(b)) })
	}
	return content
}
