package server

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/scalar"
)

const (
	// maxGroupPaths bounds the paths that objects are counted by.
	maxGroupPaths = 8
	// defaultGroups and mostGroups bound the groups in a response.
	defaultGroups, mostGroups = 1_000, 10_000
	// maxGroupsBytes bounds the bytes of the groups in a response, like those of a page.
	maxGroupsBytes = encode.MaxPageBytes
	// maxTuples bounds the groups that one object belongs to. If paths have several values, the
	// object belongs to every combination of them.
	maxTuples = 10_000
	// maxCountedBytes bounds the memory of the groups while they are counted.
	maxCountedBytes = 64 << 20
	// groupsMemory is the memory that a count reserves at first, for the groups while they are
	// counted and for the response. It reserves more in units of groupsStep.
	groupsMemory, groupsStep = 2 << 20, 1 << 20
)

// countParams are the parsed fields of a request for a count.
type countParams struct {
	snapshotParams
	paths     []mask.Path
	maxGroups int
}

func (r *reads) parseCount(request *kubeconnectv1.CountRequest) (p countParams, err error) {
	if p.maxGroups, err = parseMaxGroups(request.GetMaxGroups()); err != nil {
		return countParams{}, err
	}
	if p.paths, err = groupPaths(request.GetGroupBy()); err != nil {
		return countParams{}, err
	}
	p.snapshotParams, err = r.parseSnapshot(request)
	return p, err
}

// Count implements kubeconnect.v1.ResourceService.
func (r *reads) Count(ctx context.Context, request *kubeconnectv1.CountRequest) (*kubeconnectv1.CountResponse, error) {
	params, err := r.parseCount(request)
	if err != nil {
		return nil, err
	}
	found, err := r.takeSnapshot(ctx, params.snapshotParams)
	if err != nil {
		return nil, err
	}
	namespaces, warnings := found.coverage()
	response := &kubeconnectv1.CountResponse{
		Resource:        encode.Kind(found.resource),
		TotalCount:      int64(len(found.snapshot.Objects)),
		ResourceVersion: found.snapshot.ResourceVersion,
		Freshness:       encode.Freshness(found.freshness),
		Source:          found.source,
		Warnings:        warnings,
		Namespaces:      namespaces,
	}
	if len(params.paths) == 0 {
		return response, nil
	}
	if err := reserveResponse(ctx, groupsMemory); err != nil {
		return nil, err
	}
	return response, addGroups(ctx, response, params, found.snapshot.Objects)
}

// addGroups adds the largest groups of objects to a response.
func addGroups(ctx context.Context, response *kubeconnectv1.CountResponse, params countParams, objects []*informerhub.Object) error {
	ctx, end, err := fairqueue.Begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	groups, err := countBy(ctx, params.paths, objects)
	if err != nil {
		return err
	}
	response.Groups = largest(groups, params.maxGroups)
	response.RemainingGroupCount = int64(len(groups) - len(response.GetGroups()))
	return nil
}

func parseMaxGroups(most int32) (int, error) {
	if most < 0 || most > mostGroups {
		return 0, apierror.BadRequest("invalid max_groups %d: give 0 to %d", most, mostGroups)
	}
	return cmp.Or(int(most), defaultGroups), nil
}

func groupPaths(texts []string) ([]mask.Path, error) {
	if len(texts) > maxGroupPaths {
		return nil, apierror.BadRequest("group_by has %d paths: give at most %d", len(texts), maxGroupPaths)
	}
	if _, err := mask.Parse(texts); err != nil {
		return nil, apierror.BadRequest("group_by: %v", err)
	}
	paths := make([]mask.Path, len(texts))
	for i, text := range texts {
		paths[i], _ = mask.ParsePath(text) // parsed without an error above
	}
	return paths, nil
}

// group is the number of objects with the same values, one value for each path.
type group struct {
	values []scalar.Value
	count  int64
}

// compare orders larger groups first, and groups of the same size by their values.
func (g *group) compare(other *group) int {
	if order := cmp.Compare(other.count, g.count); order != 0 {
		return order
	}
	for i, value := range g.values {
		if order := cmp.Or(value.Compare(other.values[i]), value.CompareIdentity(other.values[i])); order != 0 {
			return order
		}
	}
	return 0
}

func (g *group) encode() *kubeconnectv1.ObjectGroup {
	encoded := &kubeconnectv1.ObjectGroup{Count: g.count}
	for _, value := range g.values {
		encoded.Values = append(encoded.Values, value.Encode())
	}
	return encoded
}

// largest returns the largest groups, at most the given number and as many as fit in a response.
func largest(groups []*group, limit int) []*kubeconnectv1.ObjectGroup {
	slices.SortFunc(groups, (*group).compare)
	var encoded []*kubeconnectv1.ObjectGroup
	size := 0
	for _, group := range groups[:min(limit, len(groups))] {
		next := group.encode()
		if size += proto.Size(next) + maxGroupOverhead; size > maxGroupsBytes {
			break
		}
		encoded = append(encoded, next)
	}
	return encoded
}

// maxGroupOverhead is the number of bytes that a response needs for a group in addition to the
// group's own bytes.
const maxGroupOverhead = 1 + binary.MaxVarintLen32

// counter counts objects by the values of paths. It is owned by one request.
type counter struct {
	reader *scalar.Reader
	groups map[string]*group // by their values
	bytes  int
	held   int // the reserved part of the bytes; see hold
	added  int

	// The object that is counted:
	values [][]scalar.Value // by path, without duplicates
	tuple  []scalar.Value   // one value for each path
	key    []byte
}

// countBy counts objects in groups. It returns them in no order.
func countBy(ctx context.Context, paths []mask.Path, objects []*informerhub.Object) ([]*group, error) {
	reader, err := scalar.NewReader(paths)
	if err != nil {
		return nil, apierror.BadRequest("group_by: %v", err)
	}
	c := counter{
		reader: reader, groups: make(map[string]*group), held: groupsMemory / 2,
		values: make([][]scalar.Value, len(paths)), tuple: make([]scalar.Value, len(paths)),
	}
	for i, object := range objects {
		if err := yieldEvery(ctx, i); err != nil {
			return nil, err
		}
		if err := c.add(ctx, object); err != nil {
			return nil, err
		}
	}
	groups := make([]*group, 0, len(c.groups))
	for _, group := range c.groups {
		groups = append(groups, group)
	}
	return groups, nil
}

// add counts an object once in each group that it belongs to.
func (c *counter) add(ctx context.Context, object *informerhub.Object) error {
	if err := c.read(object); err != nil {
		return apierror.BadRequest("group_by: %v", err)
	}
	tuples := 1
	for _, values := range c.values {
		if tuples *= len(values); tuples > maxTuples {
			return apierror.BadRequest("group_by: the values of %s %q have more than %d combinations: give fewer paths", object.Kind().Kind, object.Name(), maxTuples)
		}
	}
	return c.addTuples(ctx, 0)
}

// read reads the values of each path without duplicates, or null if a path has no value.
func (c *counter) read(object *informerhub.Object) error {
	for i := range c.values {
		c.values[i] = c.values[i][:0]
	}
	if err := c.reader.Read(object, func(path int, value scalar.Value) {
		c.values[path] = append(c.values[path], value)
	}); err != nil {
		return err
	}
	for i, values := range c.values {
		if len(values) == 0 {
			values = append(values, scalar.Value{})
		}
		slices.SortFunc(values, scalar.Value.CompareIdentity)
		c.values[i] = slices.CompactFunc(values, func(a, b scalar.Value) bool { return a.CompareIdentity(b) == 0 })
	}
	return nil
}

// addTuples counts the combinations of the values of a path and of the paths after it.
func (c *counter) addTuples(ctx context.Context, path int) error {
	if path == len(c.values) {
		return c.addTuple(ctx)
	}
	for _, value := range c.values[path] {
		c.tuple[path] = value
		if err := c.addTuples(ctx, path+1); err != nil {
			return err
		}
	}
	return nil
}

func (c *counter) addTuple(ctx context.Context) error {
	c.added++
	if err := yieldEvery(ctx, c.added); err != nil {
		return err
	}
	c.key = c.key[:0]
	for _, value := range c.tuple {
		c.key = value.AppendKey(c.key)
	}
	if known := c.groups[string(c.key)]; known != nil {
		known.count++
		return nil
	}
	c.groups[string(c.key)] = &group{slices.Clone(c.tuple), 1}
	if c.bytes += groupBytes + 2*len(c.key) + len(c.tuple)*scalarBytes; c.bytes > maxCountedBytes {
		return apierror.BadRequest("group_by: too many different values, more than %d: select fewer objects", len(c.groups))
	}
	return c.reserve(ctx)
}

// reserve reserves memory for the groups, and the same amount for the response.
func (c *counter) reserve(ctx context.Context) error {
	if c.bytes <= c.held {
		return nil
	}
	c.held += groupsStep
	return reserveMore(ctx, 2*groupsStep)
}

// groupBytes and scalarBytes estimate the memory of a group, and of each of its values without its
// string.
const groupBytes, scalarBytes = 96, 48
