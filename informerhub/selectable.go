package informerhub

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// selectableFields finds the values of the fields that a resource can be
// selected by. Which ones these are is the API server's to say: a field that is
// not known here is tried out there, once.
type selectableFields struct {
	resource Resource
	// supported asks the API server whether it supports a field; its error is the
	// API server's own.
	supported func(ctx context.Context, field string) error

	mu    sync.Mutex // guards found
	found map[string]func(*Object) string
}

func newSelectableFields(resource Resource, supported func(context.Context, string) error) *selectableFields {
	return &selectableFields{
		resource:  resource,
		supported: supported,
		found:     make(map[string]func(*Object) string),
	}
}

// find answers a function that reads the field from an object.
func (s *selectableFields) find(ctx context.Context, field string) (func(*Object) string, error) {
	switch {
	case field == "metadata.name":
		return (*Object).Name, nil
	case field == "metadata.namespace" && s.resource.Namespaced:
		return (*Object).Namespace, nil
	}
	group := s.resource.GroupResource().String()
	if read, ok := builtInFields[group][field]; ok && s.resource.BuiltIn() {
		return readEither(read, jsonField(strings.Split(field, "."))), nil
	}
	if read := s.known(field); read != nil {
		return read, nil
	}
	if err := s.supported(ctx, field); err != nil {
		return nil, err
	}
	return s.learn(field), nil
}

func (s *selectableFields) known(field string) func(*Object) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found[field]
}

func (s *selectableFields) learn(field string) func(*Object) string {
	read := jsonField(strings.Split(field, "."))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found[field] = read
	return read
}

// readEither reads a field from either form of an object.
func readEither(fromProtobuf, fromJSON func(*Object) string) func(*Object) string {
	return func(object *Object) string {
		if object.format == formatProtobuf {
			return fromProtobuf(object)
		}
		return fromJSON(object)
	}
}

// jsonField reads a field from the object's JSON: right for every kind, and cheap
// for those that are kept as JSON.
func jsonField(path []string) func(*Object) string {
	return func(object *Object) string {
		value, err := object.JSON()
		if err != nil {
			return ""
		}
		for _, name := range path {
			value = jsonMember(value, name)
		}
		switch {
		case len(value) == 0 || string(value) == "null":
			return ""
		case value[0] == '"':
			return jsonString(value)
		}
		return string(value)
	}
}

// builtInFields are the selectable fields of built-in kinds, read straight from
// the protobuf message. The numbers are those of k8s.io/api; all versions of a
// kind that are served today agree on them.
var builtInFields = map[string]map[string]func(*Object) string{
	"pods": {
		"spec.nodeName":            text(2, 10),
		"spec.restartPolicy":       text(2, 3),
		"spec.schedulerName":       text(2, 19),
		"spec.serviceAccountName":  text(2, 8),
		"spec.hostNetwork":         boolean(2, 11),
		"status.phase":             text(3, 1),
		"status.podIP":             text(3, 12, 1),
		"status.nominatedNodeName": text(3, 11),
	},
	"nodes":                  {"spec.unschedulable": boolean(2, 4)},
	"namespaces":             {"status.phase": text(3, 1)},
	"secrets":                {"type": text(3)},
	"services":               {"spec.clusterIP": text(2, 3), "spec.type": text(2, 4)},
	"replicationcontrollers": {"status.replicas": number(3, 1)},
	"replicasets.apps":       {"status.replicas": number(3, 1)},
	"jobs.batch":             {"status.successful": number(3, 5)},
	"certificatesigningrequests.certificates.k8s.io": {"spec.signerName": text(2, 7)},
	"events": {
		"involvedObject.kind":            text(2, 1),
		"involvedObject.namespace":       text(2, 2),
		"involvedObject.name":            text(2, 3),
		"involvedObject.uid":             text(2, 4),
		"involvedObject.apiVersion":      text(2, 5),
		"involvedObject.resourceVersion": text(2, 6),
		"involvedObject.fieldPath":       text(2, 7),
		"reason":                         text(3),
		"reportingComponent":             text(14),
		"source":                         firstSet(text(5, 1), text(14)),
		"type":                           text(9),
	},
	"events.events.k8s.io": {
		"regarding.kind":            text(8, 1),
		"regarding.namespace":       text(8, 2),
		"regarding.name":            text(8, 3),
		"regarding.uid":             text(8, 4),
		"regarding.apiVersion":      text(8, 5),
		"regarding.resourceVersion": text(8, 6),
		"regarding.fieldPath":       text(8, 7),
		"reason":                    text(7),
		"reportingController":       text(4),
		"type":                      text(11),
	},
}

// text reads a string.
func text(path ...protowire.Number) func(*Object) string {
	return func(object *Object) string {
		f, _ := protobufPath(object.raw, path...)
		return view(f.bytes)
	}
}

// boolean reads a bool; unset is "false".
func boolean(path ...protowire.Number) func(*Object) string {
	return func(object *Object) string {
		f, _ := protobufPath(object.raw, path...)
		return strconv.FormatBool(f.varint != 0)
	}
}

// number reads an integer; unset is "0".
func number(path ...protowire.Number) func(*Object) string {
	return func(object *Object) string {
		f, _ := protobufPath(object.raw, path...)
		return strconv.FormatInt(int64(f.varint), 10)
	}
}

func firstSet(reads ...func(*Object) string) func(*Object) string {
	return func(object *Object) string {
		for _, read := range reads {
			if value := read(object); value != "" {
				return value
			}
		}
		return ""
	}
}
