package object

import (
	"bytes"
	"errors"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/informerhub/jsonscan"
)

var errMalformedJSON = errors.New("malformed JSON from the API server")

// member is one member of a JSON object: its start (its key's quote) and end (after its value) in
// the text, and its parts.
type member struct {
	start, end int
	key        string
	value      []byte
}

// eachMember calls visit for each member of a JSON object, in order, until visit returns false.
// Values are skipped without decoding. They are checked only as far as needed to find their end.
func eachMember(text []byte, visit func(member) bool) error {
	i := jsonscan.SkipSpace(text, 0)
	if i >= len(text) || text[i] != '{' {
		return errMalformedJSON
	}
	for i, first := i+1, true; ; first = false {
		key, keyEnd, value := jsonscan.NextMember(text, i, first)
		switch {
		case key < 0:
			return errMalformedJSON
		case key == keyEnd:
			return nil
		}
		if i = jsonscan.SkipValue(text, value); i < 0 {
			return errMalformedJSON
		}
		if !visit(member{start: key, end: i, key: jsonString(text[key:keyEnd]), value: text[value:i]}) {
			return nil
		}
	}
}

// jsonString returns the content of a quoted string; empty if it is not a string. The result shares
// the memory of quoted if nothing is escaped.
func jsonString(quoted []byte) string {
	if len(quoted) < 2 || quoted[0] != '"' {
		return ""
	}
	return jsonscan.Unquote(quoted)
}

// jsonMember returns the value of one member of a JSON object; nil if there is none.
func jsonMember(text []byte, key string) []byte {
	var value []byte
	_ = eachMember(text, func(m member) bool {
		if m.key == key {
			value = m.value
		}
		return value == nil
	})
	return value
}

// copyJSONObject copies an object from a response body, without its managedFields unless
// keepManagedFields is set.
func copyJSONObject(text []byte, keepManagedFields bool) ([]byte, error) {
	if keepManagedFields {
		return bytes.Clone(text), nil
	}
	var metadata member
	if err := eachMember(text, func(m member) bool {
		if m.key == "metadata" {
			metadata = m
		}
		return true
	}); err != nil {
		return nil, err
	}
	if metadata.value == nil {
		return bytes.Clone(text), nil
	}
	offset := metadata.end - len(metadata.value)
	from, to, err := managedFieldsSpan(metadata.value)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(text)-(to-from))
	out = append(out, text[:offset+from]...)
	return append(out, text[offset+to:]...), nil
}

// managedFieldsSpan returns the position of managedFields in the metadata, with the comma before
// it, or the comma after it if it is the first member.
func managedFieldsSpan(metadata []byte) (from, to int, err error) {
	previousEnd := -1
	err = eachMember(metadata, func(m member) bool {
		if m.key != "managedFields" {
			previousEnd = m.end
			return true
		}
		from, to = m.start, m.end
		if previousEnd >= 0 {
			from = previousEnd
		} else if next := jsonscan.SkipSpace(metadata, to); next < len(metadata) && metadata[next] == ',' {
			to = next + 1
		}
		return false
	})
	return from, to, err
}

// readJSONHead reads the head of an object from its bytes.
func (o *Object) readJSONHead() error {
	var nested error
	err := eachMember(jsonMember(o.raw, "metadata"), func(m member) bool {
		switch m.key {
		case "name":
			o.name = jsonString(m.value)
		case "namespace":
			o.namespace = jsonString(m.value)
		case "uid":
			o.uid = jsonString(m.value)
		case "resourceVersion":
			o.version = jsonString(m.value)
		case "labels":
			nested = o.readJSONLabels(m.value)
		case "annotations":
			o.endOfInitialEvents = jsonMember(m.value, metav1.InitialEventsAnnotationKey) != nil
		}
		return nested == nil
	})
	return errors.Join(err, nested)
}

func (o *Object) readJSONLabels(value []byte) error {
	if value[0] != '{' { // null
		return nil
	}
	return eachMember(value, func(m member) bool {
		o.labels = append(o.labels, unique.Make(Label{m.key, jsonString(m.value)}))
		return true
	})
}

// eachElement calls visit for each element of a JSON array, in order.
func eachElement(text []byte, visit func([]byte)) error {
	i := jsonscan.SkipSpace(text, 0)
	if i >= len(text) || text[i] != '[' {
		return errMalformedJSON
	}
	for i, first := i+1, true; ; first = false {
		element, atEnd := jsonscan.NextElement(text, i, first)
		switch {
		case element < 0:
			return errMalformedJSON
		case atEnd:
			return nil
		}
		if i = jsonscan.SkipValue(text, element); i < 0 {
			return errMalformedJSON
		}
		visit(text[element:i])
	}
}
