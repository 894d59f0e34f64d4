package object

import (
	"encoding/json"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AtVersion returns the object with another resource version, as the API server sends an object that was deleted at that version. An
// object of which only the head is left has only metadata: its name, its UID and the version.
func (o *Object) AtVersion(version string) *Object {
	switch {
	case o.masking != nil:
		return newMasked(o.masking.source.AtVersion(version), o.masking.fields)
	case o.format == formatHeadOnly:
		return o.onlyNamed(version)
	case o.version == version || o.format == formatUnreadable:
		return o
	}
	changed := &Object{kind: o.kind, format: o.format, raw: o.rawAt(version)}
	var err error
	if o.format == formatJSON {
		err = changed.readJSONHead()
	} else {
		err = changed.readProtobufHead()
	}
	if err != nil {
		return o
	}
	return changed
}

// rawAt returns the bytes of the object with another resource version.
func (o *Object) rawAt(version string) []byte {
	if o.format == formatJSON {
		return withJSONVersion(o.raw, version)
	}
	metadata, found := protobufPath(o.raw, objectMetadata)
	if !found {
		return o.raw
	}
	var changed []byte
	_ = eachField(metadata.bytes, func(f field) bool {
		if f.number == metaResourceVersion {
			changed = protowire.AppendString(protowire.AppendTag(changed, metaResourceVersion, protowire.BytesType), version)
		} else {
			changed = append(changed, f.whole...)
		}
		return true
	})
	var raw []byte
	_ = eachField(o.raw, func(f field) bool {
		if f.number == objectMetadata {
			raw = protowire.AppendBytes(protowire.AppendTag(raw, objectMetadata, protowire.BytesType), changed)
		} else {
			raw = append(raw, f.whole...)
		}
		return true
	})
	return raw
}

// withJSONVersion returns the JSON of an object with another resource version.
func withJSONVersion(text []byte, version string) []byte {
	var metadata, present member
	_ = eachMember(text, func(m member) bool {
		if m.key == "metadata" {
			metadata = m
		}
		return metadata.value == nil
	})
	_ = eachMember(metadata.value, func(m member) bool {
		if m.key == "resourceVersion" {
			present = m
		}
		return present.value == nil
	})
	if present.value == nil {
		return text
	}
	end := metadata.end - len(metadata.value) + present.end
	quoted, _ := json.Marshal(version)
	return slices.Concat(text[:end-len(present.value)], quoted, text[end:])
}

// onlyNamed returns an object with only its name, UID and a version, in the form of the kind.
func (o *Object) onlyNamed(version string) *Object {
	meta := metav1.ObjectMeta{Namespace: o.namespace, Name: o.name, UID: types.UID(o.uid), ResourceVersion: version}
	named := &Object{kind: o.kind, namespace: o.namespace, name: o.name, uid: o.uid, version: version}
	if (Resource{Group: o.kind.Group, Version: o.kind.Version, Kind: o.kind.Kind}).BuiltIn() {
		partial := metav1.PartialObjectMetadata{ObjectMeta: meta}
		named.raw, _ = partial.Marshal() // never fails; a message of any built-in kind
		return named
	}
	apiVersion, kind := o.kind.ToAPIVersionAndKind()
	partial := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: kind, APIVersion: apiVersion}, ObjectMeta: meta}
	named.raw, _ = json.Marshal(partial) // never fails
	named.format = formatJSON
	return named
}
