package joins

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/internal/listkey"
	"github.com/kubeconnect/kubeconnect/server/encode"
)

const (
	// maxExamined is the number of names of rows and related objects after which a page is full.
	maxExamined = 100_000
	// MaxRowBytes bounds the related objects that are returned for a row, so that the row fits into
	// a message together with the largest object.
	MaxRowBytes = 128 << 10
	// stepsBetweenYields is the number of names and related objects that are examined between two yields.
	stepsBetweenYields = 32
)

// errFull reports that a page ends before a row, because its rows have cost too much.
var errFull = errors.New("the page is full")

// Page joins the rows of one page. Nil is a page without joins. It is owned by one goroutine.
type Page struct {
	joins   []*joining
	reserve func(ctx context.Context, bytes int) error
	between map[schema.GroupKind]*Related // see Follow
	rows    int
	// examined is the number of names of rows and related objects that were examined, except for
	// indexing. indexed is the number of related objects that were indexed.
	examined, indexed int
	found             map[schema.GroupResource]int // see Found
}

// NewPage returns a page of some joins. reserve reserves memory in addition to [Page.Memory]; it
// does not wait. Nil is for a page that joins no rows itself: see [Page.Next].
func NewPage(joins []Join, reserve func(ctx context.Context, bytes int) error) *Page {
	p := &Page{reserve: reserve, between: make(map[schema.GroupKind]*Related), found: make(map[schema.GroupResource]int)}
	for _, join := range joins {
		p.joins = append(p.joins, &joining{
			Join: join, page: p, finder: join.Relation.begin(p, join.Related),
			known: make(map[*informerhub.Object]known), unread: make(map[unreadError]bool),
		})
	}
	return p
}

// Next returns a page of the same joins, which follows the same owners and reserves its own memory.
func (p *Page) Next(reserve func(ctx context.Context, bytes int) error) *Page {
	definitions := make([]Join, len(p.joins))
	for i, join := range p.joins {
		definitions[i] = join.Join
	}
	next := NewPage(definitions, reserve)
	next.between = p.between
	return next
}

// Append appends the results of all joins for a row to the fields of the row's message. If full is
// set, the page ends before the row.
func (p *Page) Append(ctx context.Context, dst []byte, row *informerhub.Object) (longer []byte, full bool, err error) {
	if p == nil {
		return dst, false, nil
	}
	if p.rows > 0 && p.examined >= maxExamined {
		return dst, true, nil
	}
	left := MaxRowBytes
	for _, join := range p.joins {
		result, err := join.result(ctx, row, &left)
		if errors.Is(err, errFull) && p.rows > 0 {
			return dst, true, nil
		}
		if err != nil {
			return dst, false, fmt.Errorf("join %q: %w", join.Name, err)
		}
		dst = encode.AppendJoined(dst, result)
		p.found[join.Related.Resource.GroupResource()] += result.Count
	}
	p.rows++
	return dst, false, nil
}

// Warnings returns what people should know about the results so far.
func (p *Page) Warnings() (warnings []string) {
	if p == nil {
		return nil
	}
	for _, join := range p.joins {
		warnings = append(warnings, join.warnings()...)
	}
	return warnings
}

// Found returns the numbers of related objects that the results so far count, by resource. The results of a row that did not
// fit into the page are included.
func (p *Page) Found() map[schema.GroupResource]int {
	if p == nil {
		return nil
	}
	return p.found
}

// Memory returns the memory that a page needs for itself.
func (p *Page) Memory() int {
	if p == nil {
		return 0
	}
	return len(p.joins) * maxKnownBytes
}

// examine counts a name of a row, or a related object.
func (p *Page) examine(ctx context.Context) error {
	p.examined++
	if p.examined%stepsBetweenYields != 0 {
		return nil
	}
	return fairqueue.Yield(ctx)
}

// Identity identifies the resources that the joins of a page read, the namespaces that they are read in, and why they are not read in
// others. It is comparable.
type Identity struct{ joined, between listkey.Key[relatedKey] }

type relatedKey struct {
	resource              informerhub.Resource
	cache                 *informerhub.Cache
	namespaces, permitted listkey.Key[string]
}

// Identity returns the identity of what the page reads.
func (p *Page) Identity() Identity {
	var between []Related
	for _, kind := range p.Followed() {
		if related := p.between[kind]; related != nil {
			between = append(between, *related)
		}
	}
	return Identity{
		joined:  listkey.OfFunc(p.joins, func(join *joining) relatedKey { return join.Related.key() }),
		between: listkey.OfFunc(between, Related.key),
	}
}

func (r Related) key() relatedKey {
	return relatedKey{r.Resource, r.Cache, listkey.Of(r.Namespaces), listkey.Of(r.Permitted)}
}
