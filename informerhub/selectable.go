package informerhub

import (
	"context"
	"errors"
	"fmt"
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

// selectableFields finds the values of the fields that a resource can be
// selected by. Which ones these are is the API server's to say: a field that is
// not known here is tried out there, once.
type selectableFields struct {
	resource Resource
	// supported asks the API server whether it supports a field; its error is the
	// API server's own.
	supported func(ctx context.Context, field string) error

	// asking has the API server asked about one field at a time, of each caller in turn, and paced
	// about so many in a second.
	asking *fairqueue.Queue
	pace   flowcontrol.RateLimiter

	mu     sync.Mutex // guards the fields below
	found  map[string]func(*Object) string
	missed *lru.Cache // of missedField, by the field's name
}

// missedField is a field that the API server has refused to select by.
type missedField struct {
	err   error
	asked time.Time
}

const (
	// fieldMissesRemembered is for how long the API server is not asked again about a field
	// that it has refused.
	fieldMissesRemembered = 10 * time.Second
	// maxFieldMisses and maxMissedName bound what is remembered of such fields.
	maxFieldMisses, maxMissedName = 256, 512
	// maxFieldsWaiting is how many questions about fields may wait for each caller.
	maxFieldsWaiting = 16
)

func newSelectableFields(resource Resource, supported func(context.Context, string) error) *selectableFields {
	return &selectableFields{
		resource:  resource,
		supported: supported,
		asking:    fairqueue.New(fairqueue.Limits{Total: 1, Waiting: maxFieldsWaiting}),
		pace:      flowcontrol.NewTokenBucketRateLimiter(turnsPerSecond, turnBurst),
		found:     make(map[string]func(*Object) string),
		missed:    lru.New(maxFieldMisses),
	}
}

// find answers a function that reads the field from an object. The error is the API server's
// own, or a TooManyRequests error if the caller asks for too many fields that are not known yet.
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
	if read, err := s.known(field); read != nil || err != nil {
		return read, err
	}
	return s.tryOut(ctx, field)
}

// known returns what is known of a field: how it is read, or why it is not selected by; neither
// if the API server must be asked.
func (s *selectableFields) known(field string) (func(*Object) string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if missed, ok := s.missed.Get(field); ok && time.Since(missed.(missedField).asked) < fieldMissesRemembered {
		return nil, missed.(missedField).err
	}
	return s.found[field], nil
}

// tryOut asks the API server about a field, when it is the caller's turn. Those who ask for the same
// field share the answer.
func (s *selectableFields) tryOut(ctx context.Context, field string) (func(*Object) string, error) {
	release, err := s.asking.Acquire(ctx, fairqueue.Key(ctx), 1)
	if errors.Is(err, fairqueue.ErrFull) {
		return nil, apierrors.NewTooManyRequests("too many of your calls wait to learn whether a field can be selected by: try again later", 1)
	}
	if err != nil {
		return nil, err
	}
	defer release()
	if read, err := s.known(field); read != nil || err != nil {
		return read, err
	}
	if err := s.pace.Wait(ctx); err != nil {
		return nil, fmt.Errorf("waiting to ask about the field %q: %w", field, errors.Join(context.Cause(ctx), err))
	}
	if err := s.supported(ctx, field); err != nil {
		s.miss(field, err)
		return nil, err
	}
	return s.learn(field), nil
}

// miss remembers that the API server has refused a field.
func (s *selectableFields) miss(field string, err error) {
	if apierrors.IsBadRequest(err) && len(field) <= maxMissedName {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.missed.Add(strings.Clone(field), missedField{err, time.Now()})
	}
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
