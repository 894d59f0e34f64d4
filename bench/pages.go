package main

import (
	"context"
	"fmt"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

const (
	// mostInPage is the number of pods in a page, unless there are too few pods for four such pages.
	mostInPage = 500
	// pastChanges is the number of changes between the version of the old list and the present.
	pastChanges = 1000
)

func (l *lab) pageSize() int { return min(mostInPage, l.pods/4) }

// replicas are two services that have cached the same pods, with a reader of each. CPU time is counted
// for each process, so the two sides of a comparison use different services.
type replicas struct {
	*lab
	first, second *reader
}

func (l *lab) onReplicas(ctx context.Context, do func(*replicas) error) error {
	first, err := l.cluster.startFilled(ctx)
	if err != nil {
		return err
	}
	defer first.stop()
	second, err := l.cluster.startFilled(ctx)
	if err != nil {
		return err
	}
	defer second.stop()
	return withReaders([]*service{first, second}, func(r []*reader) error {
		both := &replicas{lab: l, first: r[0], second: r[1]}
		if err := both.meet(ctx); err != nil {
			return err
		}
		return do(both)
	})
}

// meet changes a pod, so that both replicas reach the same version. Before that, the version of the
// first replica may be older than the start of the second one, and a replica does not have the
// versions before its start.
func (r *replicas) meet(ctx context.Context) error {
	changes, err := r.changer(ctx, func(number int) bool { return number == 0 })
	if err != nil {
		return err
	}
	defer changes.close()
	if err := changes.changeOne(ctx); err != nil {
		return err
	}
	return r.catchUp(ctx)
}

// comparePages compares the later pages of a list, read from a replica that has not served the first
// page, with the first page.
func (l *lab) comparePages(ctx context.Context, results *report) error {
	return l.onReplicas(ctx, func(r *replicas) error {
		pages, err := r.laterPages(ctx)
		if err != nil {
			return err
		}
		if err := r.wantCached(ctx, pages.start); err != nil {
			return err
		}
		what := fmt.Sprintf("a later page of a list of %d pods, %d each, at another replica", l.pods, l.pageSize())
		return r.compareReadings(ctx, []*readingPair{newReadingPair(
			row{what: what, against: "page 1 at the first replica", ratio: less},
			r.second, pages.read, r.first, r.firstPage)}, results)
	})
}

// comparePast compares the later pages of a list that began before many changes with pages of a list
// at the present version.
func (l *lab) comparePast(ctx context.Context, results *report) error {
	return l.onReplicas(ctx, func(r *replicas) error {
		past, err := r.pastPages(ctx)
		if err != nil {
			return err
		}
		present, err := r.laterPages(ctx)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("a later page of a list of %d pods, %d each, %d changes ago", l.pods, l.pageSize(), pastChanges)
		return r.compareReadings(ctx, []*readingPair{
			newReadingPair(row{what: what, against: "page 1 of the present", ratio: less},
				r.second, past.read, r.first, r.firstPage),
			newReadingPair(row{what: what, against: "a later page of the present", ratio: less},
				r.second, past.read, r.first, present.read),
		}, results)
	})
}

// pastPages reads page 1, makes changes, and returns the pages that come after page 1.
func (r *replicas) pastPages(ctx context.Context) (*laterPages, error) {
	changes, err := r.changer(ctx, r.spread(pastChanges))
	if err != nil {
		return nil, err
	}
	defer changes.close()
	past, err := r.laterPages(ctx)
	if err != nil {
		return nil, err
	}
	if err := changes.stream(ctx, pastChanges); err != nil {
		return nil, err
	}
	if err := r.catchUp(ctx); err != nil {
		return nil, err
	}
	return past, r.wantCached(ctx, past.start)
}

// spread selects the given number of pods, or a few more, spread evenly over all pods.
func (l *lab) spread(pods int) func(number int) bool {
	each := max(1, l.pods/pods)
	return func(number int) bool { return number%each == 0 }
}

// catchUp blocks until both replicas have received all changes.
func (r *replicas) catchUp(ctx context.Context) error {
	version, err := r.cluster.version(ctx, "")
	if err != nil {
		return err
	}
	for _, replica := range []*reader{r.first, r.second} {
		_, err := replica.service.list(ctx, replica.on, &kubeconnectv1.ListRequest{
			Resource: "pods", Namespace: "nosuch", MinResourceVersion: version})
		if err != nil {
			return err
		}
	}
	return nil
}

// wantCached returns an error unless the second replica continues a list from its cache. A replica
// reads versions that it does not have from the API server.
func (r *replicas) wantCached(ctx context.Context, token string) error {
	client, closeIdle := r.second.service.client()
	defer closeIdle()
	resources := r.second.service.resources(client)
	page, err := resources.List(ctx, r.pageRequest(token))
	if source := page.GetSource(); err == nil && source != kubeconnectv1.Source_SOURCE_CACHE {
		err = fmt.Errorf("the page comes from %s, want %s", source, kubeconnectv1.Source_SOURCE_CACHE)
	}
	return err
}

func (r *replicas) pageRequest(token string) *kubeconnectv1.ListRequest {
	return &kubeconnectv1.ListRequest{
		Resource: "pods", PageSize: int32(r.pageSize()), PageToken: token,
		Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF,
	}
}

// page reads one page of the list of all pods: the first page if the token is empty.
func (r *replicas) page(ctx context.Context, from *reader, token string) (next string, err error) {
	var page listed
	next, err = from.service.page(ctx, from.on, r.pageRequest(token), &page)
	if want := r.pageSize(); err == nil && page.objects != want {
		err = fmt.Errorf("the page has %d objects, want %d", page.objects, want)
	}
	return next, err
}

func (r *replicas) firstPage(ctx context.Context, from *reader) error {
	_, err := r.page(ctx, from, "")
	return err
}

// laterPages reads page 1 at the first replica, and returns the pages that come after it.
func (r *replicas) laterPages(ctx context.Context) (*laterPages, error) {
	token, err := r.page(ctx, r.first, "")
	return &laterPages{replicas: r, cycle: newCycle(token, r.pods/r.pageSize()-1)}, err
}

// laterPages are the pages of a list after the first one. Each call of read reads the next page.
type laterPages struct {
	*replicas
	*cycle
}

func (p *laterPages) read(ctx context.Context, from *reader) error {
	next, err := p.page(ctx, from, p.token)
	p.advance(next)
	return err
}

// cycle repeats the full pages of a list after the first one, because a page token can be used more
// than once.
type cycle struct {
	start string // the token of page 2
	pages int    // full pages after the first one

	token string // of the next page
	read  int    // pages in the current repetition
}

func newCycle(start string, pages int) *cycle {
	return &cycle{start: start, pages: pages, token: start}
}

// advance moves to the next page, whose token the current page has returned.
func (c *cycle) advance(next string) {
	c.read++
	if c.token = next; c.read == c.pages {
		c.token, c.read = c.start, 0
	}
}
