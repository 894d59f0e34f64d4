package reads

import (
	"cmp"
	"strings"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

const (
	// maxJoins bounds the joins of a request, because each of them reads another cache for every object of a page.
	maxJoins         = 8
	maxJoinNameBytes = 63
	// maxJoined bounds the related objects that are returned for an object.
	maxJoined, defaultJoined = 100, 10
)

// JoinParams are the parsed fields of a join.
type JoinParams struct {
	name     string
	kind     kubeconnectv1.JoinType
	resource string    // as the caller wrote it
	path     mask.Path // nil for none
	filter   string    // an expression; see Selection
	view     encode.View
	limit    int // 0 if no objects are returned
}

// parseListJoins parses the joins of a list.
func parseListJoins(request *kubeconnectv1.ListRequest) ([]JoinParams, error) {
	if len(request.GetJoins()) > 0 && request.GetConsistency() == kubeconnectv1.Consistency_CONSISTENCY_LATEST {
		return nil, apierror.BadRequest("joins are not for CONSISTENCY_LATEST, because related objects are read from the cache: " +
			"give min_resource_version to see a write")
	}
	return parseJoins(request.GetJoins(), request.GetEncoding())
}

// ParseWatchJoins parses the joins of a watch.
func ParseWatchJoins(request *kubeconnectv1.WatchRequest) ([]JoinParams, error) {
	if len(request.GetJoins()) > 0 && request.GetLimit() == 0 {
		return nil, apierror.BadRequest("joins need a limit in a watch, because a change of a related object can change any number of objects: " +
			"give a limit, call List at an interval, or watch the other resource too")
	}
	return parseJoins(request.GetJoins(), request.GetEncoding())
}

// parseJoins parses joins in the order of the request, which is also the order of their results. encoding is the encoding of the
// objects that they return.
func parseJoins(requested []*kubeconnectv1.Join, encoding kubeconnectv1.Encoding) (all []JoinParams, err error) {
	if len(requested) > maxJoins {
		return nil, apierror.BadRequest("there are %d joins: give at most %d", len(requested), maxJoins)
	}
	names := make(map[string]bool)
	for _, join := range requested {
		if err := checkJoinName(join.GetName()); err != nil {
			return nil, err
		}
		if names[join.GetName()] {
			return nil, apierror.BadRequest("there are two joins with the name %q: give each another name", join.GetName())
		}
		names[join.GetName()] = true
		parsed, err := parseJoin(join, encoding)
		if err != nil {
			return nil, apierror.BadRequest("join %q: %v", join.GetName(), err)
		}
		all = append(all, parsed)
	}
	return all, nil
}

func checkJoinName(name string) error {
	isOther := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-')
	}
	if name == "" || len(name) > maxJoinNameBytes || strings.ContainsFunc(name, isOther) {
		return apierror.BadRequest("invalid name of a join %q: give 1 to %d letters, digits, \"_\" and \"-\"", name, maxJoinNameBytes)
	}
	return nil
}

func parseJoin(join *kubeconnectv1.Join, encoding kubeconnectv1.Encoding) (p JoinParams, err error) {
	p = JoinParams{name: join.GetName(), kind: join.GetType(), resource: join.GetResource(), filter: join.GetFilter()}
	if err := checkJoinType(p.kind); err != nil {
		return JoinParams{}, err
	}
	if p.path, err = parseJoinPath(p.kind, join.GetPath()); err != nil {
		return JoinParams{}, err
	}
	p.view = encode.View{Encoding: encoding}
	if p.view.Fields, err = encode.Fields(join.GetFields(), false); err != nil {
		return JoinParams{}, err
	}
	p.limit, err = parseJoinLimit(join)
	return p, err
}

func checkJoinType(kind kubeconnectv1.JoinType) error {
	if _, known := kubeconnectv1.JoinType_name[int32(kind)]; !known {
		return apierror.BadRequest("unknown type %d", kind)
	}
	if kind == kubeconnectv1.JoinType_JOIN_TYPE_UNSPECIFIED {
		return apierror.BadRequest("type is required")
	}
	return nil
}

// parseJoinPath parses the path of a join, which only some types have.
func parseJoinPath(kind kubeconnectv1.JoinType, text string) (mask.Path, error) {
	needed := kind == kubeconnectv1.JoinType_JOIN_TYPE_NAMED_BY || kind == kubeconnectv1.JoinType_JOIN_TYPE_NAMES
	switch {
	case needed && text == "":
		return nil, apierror.BadRequest("path is required: give one such as \"spec.nodeName\"")
	case !needed && text != "":
		return nil, apierror.BadRequest("path is for NAMED_BY and NAMES only")
	case !needed:
		return nil, nil
	}
	if _, err := mask.Parse([]string{text}); err != nil {
		return nil, apierror.BadRequest("path: %v", err)
	}
	return mask.ParsePath(text)
}

// parseJoinLimit returns how many related objects a join returns for an object; 0 if it returns none of them.
func parseJoinLimit(join *kubeconnectv1.Join) (int, error) {
	switch limit := join.GetLimit(); {
	case limit < 0 || limit > maxJoined:
		return 0, apierror.BadRequest("invalid limit %d: give 0 to %d", limit, maxJoined)
	case len(join.GetFields()) > 0:
		return cmp.Or(int(limit), defaultJoined), nil
	case limit > 0:
		return 0, apierror.BadRequest("limit is for the objects that are returned: give their fields")
	}
	return 0, nil
}

// resultBytes and joinedObjectBytes estimate the size of the result of a join for an object, and of
// a related object in it. Most objects have one.
const resultBytes, joinedObjectBytes = 16, 256

// joinedBytes estimates the size of the results of joins for an object.
func joinedBytes(joins []JoinParams) (size int) {
	for _, join := range joins {
		size += resultBytes + len(join.name) + joinedObjectBytes*min(join.limit, 1)
	}
	return size
}
