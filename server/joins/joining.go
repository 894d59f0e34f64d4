package joins

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/filter"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// joining is one join of a page.
type joining struct {
	Join
	page   *Page
	finder finder
	budget filter.Budget

	// known are related objects that other rows may have too, such as a node.
	known      map[*informerhub.Object]known
	knownBytes int

	// For warnings:
	unread   map[unreadError]bool
	invalid  noted // rows with an invalid selector
	unvalued noted // related objects for which the filter has no value
	omitted  noted // rows whose related objects were too large to be returned
}

// known is what a join has found out about a related object.
type known struct {
	passes  bool
	message []byte // empty if it has not been encoded
}

const (
	// maxKnownBytes bounds the memory for known objects of a join.
	maxKnownBytes = 256 << 10
	knownBytes    = 128
)

// unreadError reports that the objects of a resource are not read for a row: because the caller cannot list them, or
// because they are not cached. It is comparable.
type unreadError struct {
	resource    schema.GroupResource
	inNamespace bool // in the namespace of the row
	permitted   bool // the caller can list them
}

func (e *unreadError) Error() string {
	where := ""
	if e.inNamespace {
		where = " in their namespaces"
	}
	if e.permitted {
		return fmt.Sprintf("some results are unknown: the service does not cache %s%s", e.resource, where)
	}
	return fmt.Sprintf("some results are not permitted: you may not list %s%s", e.resource, where)
}

// result returns the result of the join for a row. left is the number of bytes of related objects
// that the row can still have.
func (j *joining) result(ctx context.Context, row *informerhub.Object, left *int) (encode.Joined, error) {
	if !j.Related.reads(row) {
		return j.unknown(j.Related.unread(row)), nil
	}
	objects, err := j.finder.find(ctx, row)
	var unread *unreadError
	var invalid *invalidError
	switch {
	case errors.As(err, &unread):
		return j.unknown(unread), nil
	case errors.As(err, &invalid):
		j.invalid.add(row, err)
	case err != nil:
		return encode.Joined{}, err
	}
	return j.resultOf(ctx, row, objects, left)
}

// unknown returns the result for a row whose related objects are not read.
func (j *joining) unknown(reason *unreadError) encode.Joined {
	j.unread[*reason] = true
	return encode.Joined{Name: j.Name, NotPermitted: true}
}

// resultOf returns the result for a row with the given related objects.
func (j *joining) resultOf(ctx context.Context, row *informerhub.Object, objects []*informerhub.Object, left *int) (encode.Joined, error) {
	result := encode.Joined{Name: j.Name}
	for _, object := range objects {
		if err := j.page.examine(ctx); err != nil {
			return encode.Joined{}, err
		}
		passes, err := j.passes(object)
		if err != nil {
			return encode.Joined{}, err
		}
		if !passes {
			continue
		}
		if result.Count++; result.Count > j.Limit {
			continue
		}
		message := j.message(object)
		if *left -= len(message); *left < 0 {
			j.omitted.add(row, nil)
			*left = 0
			continue
		}
		result.Objects = append(result.Objects, message)
	}
	return result, nil
}

// passes reports whether the filter is true for a related object. It returns errFull if the filter
// has cost too much for the page's objects, and a BadRequest error if these are of one row.
func (j *joining) passes(object *informerhub.Object) (bool, error) {
	if j.Filter == nil {
		return true, nil
	}
	if found, ok := j.known[object]; ok {
		return found.passes, nil
	}
	if err := j.budget.Left(); err != nil {
		if j.page.rows > 0 {
			return false, errFull
		}
		return false, apierror.BadRequest("filter: %v for the related objects of one object: give a simpler one", err)
	}
	passes, err := object.PassesFilter(j.Filter, &j.budget)
	if err != nil {
		j.unvalued.add(object, err)
	}
	j.remember(object, known{passes: passes})
	return passes, nil
}

// message returns the message of a related object.
func (j *joining) message(object *informerhub.Object) []byte {
	found := j.known[object]
	if found.message == nil {
		found = known{true, encode.ObjectUnder(object, j.View)}
		j.remember(object, found)
	}
	return found.message
}

// remember records what was found out about an object. It forgets everything else if that would
// exceed maxKnownBytes.
func (j *joining) remember(object *informerhub.Object, found known) {
	if j.knownBytes += knownBytes + len(found.message); j.knownBytes > maxKnownBytes {
		clear(j.known)
		j.knownBytes = knownBytes + len(found.message)
	}
	if j.knownBytes <= maxKnownBytes {
		j.known[object] = found
	}
}
