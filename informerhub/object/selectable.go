package object

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/lru"

	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
)

// SelectableFields finds the values of the fields that a resource can be selected by. The API
// server decides which fields these are: an unknown field is tested there, once.
type SelectableFields struct {
	resource Resource
	// supported asks the API server whether it supports a field; its error is the API server's own.
	supported func(ctx context.Context, field string) error

	// queue limits requests to the API server to one at a time, with the callers in turn. limiter
	// limits their rate.
	queue   *fairqueue.Queue
	limiter flowcontrol.RateLimiter

	mu     sync.Mutex // guards the fields below
	found  map[string]func(*Object) string
	missed *lru.Cache // of missedField, by the field's name
}

// missedField is a field that the API server does not select by.
type missedField struct {
	err         error
	requestedAt time.Time
}

const (
	// fieldMissesRemembered is the time for which the API server is not asked again about a
	// rejected field.
	fieldMissesRemembered = 10 * time.Second
	// maxFieldMisses and maxMissedName bound the cached rejected fields and their names.
	maxFieldMisses, maxMissedName = 256, 512
	// maxFieldsWaiting bounds the waiting requests about fields of each caller.
	maxFieldsWaiting = 16
	// fieldsPerSecond limits the requests about fields. Callers beyond this rate wait.
	fieldsPerSecond = 2
	fieldBurst      = 10
)

// NewSelectableFields returns the selectable fields of a resource. supported asks the API server
// whether it supports a field, and returns its error; it is called for one field at a time.
func NewSelectableFields(resource Resource, supported func(context.Context, string) error) *SelectableFields {
	return &SelectableFields{
		resource:  resource,
		supported: supported,
		queue:     fairqueue.New(fairqueue.Limits{Total: 1, Waiting: maxFieldsWaiting}),
		limiter:   flowcontrol.NewTokenBucketRateLimiter(fieldsPerSecond, fieldBurst),
		found:     make(map[string]func(*Object) string),
		missed:    lru.New(maxFieldMisses),
	}
}

// Find returns a function that reads the field from an object. The error is the API server's own,
// or a TooManyRequests error if the caller uses too many unknown fields.
func (s *SelectableFields) Find(ctx context.Context, field string) (func(*Object) string, error) {
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
	if read, err := s.cachedReader(field); read != nil || err != nil {
		return read, err
	}
	return s.askAPIServer(ctx, field)
}

// cachedReader returns the cached result for a field: its reader, or the error of the API server.
// Both are nil if the API server must be asked.
func (s *SelectableFields) cachedReader(field string) (func(*Object) string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if missed, ok := s.missed.Get(field); ok && time.Since(missed.(missedField).requestedAt) < fieldMissesRemembered {
		return nil, missed.(missedField).err
	}
	return s.found[field], nil
}

// askAPIServer asks the API server about a field, in the caller's turn. Concurrent callers with the
// same field share the result.
func (s *SelectableFields) askAPIServer(ctx context.Context, field string) (func(*Object) string, error) {
	release, err := s.queue.Acquire(ctx, fairqueue.Key(ctx), 1)
	if errors.Is(err, fairqueue.ErrFull) {
		return nil, apierrors.NewTooManyRequests(
			"too many of your calls are waiting to check whether a field is selectable: try again later", 1)
	}
	if err != nil {
		return nil, err
	}
	defer release()
	if read, err := s.cachedReader(field); read != nil || err != nil {
		return read, err
	}
	if err := s.limiter.Wait(ctx); err != nil {
		reason := context.DeadlineExceeded // the limiter does not wait for a turn after the deadline
		if ctx.Err() != nil {
			reason = context.Cause(ctx)
		}
		return nil, fmt.Errorf("waiting to check the field %q: %w", field, reason)
	}
	if err := s.supported(ctx, field); err != nil {
		s.recordMiss(field, err)
		return nil, err
	}
	return s.addReader(field), nil
}

// recordMiss caches that the API server has rejected a field.
func (s *SelectableFields) recordMiss(field string, err error) {
	if apierrors.IsBadRequest(err) && len(field) <= maxMissedName {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.missed.Add(strings.Clone(field), missedField{err, time.Now()})
	}
}

func (s *SelectableFields) addReader(field string) func(*Object) string {
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

// jsonField reads a field from the object's JSON. This works for every kind, and is cheap for those
// that are stored as JSON.
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

// builtInFields are the selectable fields of built-in kinds, read directly from the protobuf
// message. The numbers are those of k8s.io/api; all versions of a kind that are served today have
// the same ones.
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

// text returns a reader of a string.
func text(path ...protowire.Number) func(*Object) string {
	return func(object *Object) string {
		f, _ := protobufPath(object.raw, path...)
		return view(f.bytes)
	}
}

// boolean returns a reader of a bool; unset is "false".
func boolean(path ...protowire.Number) func(*Object) string {
	return func(object *Object) string {
		f, _ := protobufPath(object.raw, path...)
		return strconv.FormatBool(f.varint != 0)
	}
}

// number returns a reader of an integer; unset is "0".
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

// FieldReader reads a field that objects are selected by. Most fields have at most one value. A
// field within a list may have several.
type FieldReader struct {
	// Has reports whether a value is among the field's.
	Has func(object *Object, value string) bool
	// Values returns the field's values, without empty ones. They may point into the object.
	Values func(*Object) []string
}

// OneValue returns a reader of a field with a single value, which is empty if there is none.
func OneValue(read func(*Object) string) FieldReader {
	return FieldReader{
		Has: func(object *Object, value string) bool { return read(object) == value },
		Values: func(object *Object) []string {
			if value := read(object); value != "" {
				return []string{value}
			}
			return nil
		},
	}
}

// Condition is one requirement of a field selector, or of a relation.
type Condition struct {
	// Field is the field's name.
	Field string
	// Reader reads the field.
	Reader FieldReader
	// Values are those of which the field must have one, if Equal is set, or none otherwise.
	Values []string
	Equal  bool
}

// Meets reports whether an object meets the condition.
func (c Condition) Meets(object *Object) bool {
	for _, value := range c.Values {
		if c.Reader.Has(object, value) {
			return c.Equal
		}
	}
	return !c.Equal
}

// Indexable reports whether an index finds the objects that meet the condition. Names and
// namespaces need no index, because the store is ordered by them.
func (c Condition) Indexable() bool {
	return c.Equal && !slices.Contains(c.Values, "") && c.Field != "metadata.name" && c.Field != "metadata.namespace"
}
