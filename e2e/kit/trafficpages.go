package kit

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/traffic"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

const (
	// pagesOfResource is the number of followers of pages of one resource, which are chosen at random.
	pagesOfResource = 3
	// countsInterval is the interval of some followers of counts.
	countsInterval = 100 * time.Millisecond
	// hangUpCountsOnce is the number of hang-ups of others for about each one of a follower of counts,
	// which begins with all groups again.
	hangUpCountsOnce = 20
)

// followPages starts followers of pages.
func (c *ResourceTraffic) followPages(t *testing.T, of string, rnd *rand.Rand, kin kin, clients []record.Client) {
	t.Helper()
	follow := func(request *kubeconnectv1.WatchRequest, related func(validate.Write) bool) {
		form := forms[rnd.IntN(len(forms))]
		request.Resource, request.Encoding, request.PatchFormat = c.Resource.Name(), form.encoding, form.patches
		name := fmt.Sprintf("%spages of %s, %v", of, c.Resource.Name(), request)
		c.Pages = append(c.Pages, record.FollowRelatedPages(t, name, request, related, clients...))
	}
	all := pages(c.Resource, kin.namespace, kin.traffic)
	for _, chosen := range rnd.Perm(len(all))[:pagesOfResource] {
		follow(all[chosen], nil)
	}
	related := kin.relations()
	chosen := related[pick(rnd, slices.Sorted(maps.Keys(related)))]
	follow(&kubeconnectv1.WatchRequest{Namespace: kin.namespace, Related: chosen.Relation, OrderBy: pick(rnd, []string{"", "metadata.name desc"})}, c.relatedTo(chosen))
}

func pick[T any](rnd *rand.Rand, from []T) T { return from[rnd.IntN(len(from))] }

// pages returns watches of pages in all orders. They select only objects whose writes are recorded.
func pages(resource traffic.Resource, namespace, own string) []*kubeconnectv1.WatchRequest {
	word := "data.color"
	if resource.Field != "" {
		word = "spec." + resource.Field
	}
	return []*kubeconnectv1.WatchRequest{
		{Namespace: namespace},
		{Namespace: namespace, OrderBy: "metadata.labels.color desc, metadata.name desc"},
		{Namespace: namespace, OrderBy: word},
		{Namespace: namespace, OrderBy: "data.number", Filter: `!has(object.metadata.labels)`},
		{LabelSelector: own + "," + traffic.Label + " in (red,green,blue)", OrderBy: "data.number desc"},
		{LabelSelector: own + "," + traffic.Label + "=red", OrderBy: word + " desc, metadata.name"},
		{LabelSelector: own, OrderBy: "metadata.labels.color", Fields: []string{word}},
		{LabelSelector: traffic.Label + "!=red", Namespace: namespace, OrderBy: "metadata.creationTimestamp desc", MetadataOnly: true},
		{LabelSelector: own, Filter: `object.metadata.labels.color == "red"`, OrderBy: "metadata.namespace desc", Fields: []string{"metadata.labels"}},
	}
}

// followCounts starts followers of counts of all kinds.
func (c *ResourceTraffic) followCounts(t *testing.T, of string, rnd *rand.Rand, kin kin, clients []record.Client) {
	t.Helper()
	var counting []record.CountsClient
	for _, client := range clients {
		counting = append(counting, client.(record.CountsClient))
	}
	follow := func(request *kubeconnectv1.WatchCountsRequest, related func(validate.Write) bool) {
		request.Resource = c.Resource.Name()
		name := fmt.Sprintf("%scounts of %s, %v", of, c.Resource.Name(), request)
		c.Counts = append(c.Counts, record.FollowRelatedCounts(t, name, request, related, counting...))
	}
	for _, request := range counts(c.Resource, kin.namespace, kin.traffic) {
		follow(request, nil)
	}
	for _, relation := range kin.some(t, rnd) {
		follow(&kubeconnectv1.WatchCountsRequest{Namespace: kin.namespace, Related: relation.Relation, GroupBy: []string{"metadata.labels.color"}}, c.relatedTo(relation))
	}
}

// counts returns watches of counts. They select only objects whose writes are recorded.
func counts(resource traffic.Resource, namespace, own string) []*kubeconnectv1.WatchCountsRequest {
	word := "data.color"
	if resource.Field != "" {
		word = "spec." + resource.Field
	}
	sum := []*kubeconnectv1.Aggregate{{Function: kubeconnectv1.AggregateFunction_AGGREGATE_FUNCTION_SUM, Path: "data.number"}}
	often := durationpb.New(countsInterval)
	return []*kubeconnectv1.WatchCountsRequest{
		{Namespace: namespace, GroupBy: []string{"metadata.labels.color", word}, Aggregates: sum, MinInterval: often},
		{LabelSelector: own, GroupBy: []string{"metadata.namespace"}, Aggregates: sum},
		{LabelSelector: own, Filter: `object.metadata.labels.color == "red"`, MinInterval: often},
	}
}

// scroll makes one of the followers of pages scroll.
func (c *TrafficGroup) scroll(pages []*record.PageFollower) {
	if len(pages) == 0 {
		return
	}
	follower := pages[c.Rnd.IntN(len(pages))]
	if c.goBack && c.Rnd.IntN(goBackOnce) == 0 {
		follower.GoBack()
		return
	}
	follower.Scroll()
}

// hangUpCounts ends the call of one of the followers of counts from time to time.
func (c *TrafficGroup) hangUpCounts(counts []*record.CountsFollower) {
	if chosen := c.Rnd.IntN(hangUpCountsOnce); chosen < len(counts) {
		counts[chosen].HangUp()
	}
}

// reachPages blocks until the pages and counts are those at a version of the cluster.
func (c *ResourceTraffic) reachPages(ctx context.Context, version string) {
	for _, follower := range c.Pages {
		follower.Reaches(ctx, version)
	}
	for _, follower := range c.Counts {
		follower.Reaches(ctx, version)
	}
}

// evidenceAbout returns the evidence about the pages or counts of a selection, and whether they are judged.
type evidenceAbout func(validate.Selection, validate.Evidence) (about validate.Evidence, judged bool)

// finishPages ends the followers of pages after the last write, and validates the recordings of the selections that are judged.
func (c *ResourceTraffic) finishPages(ctx context.Context, t *testing.T, evidence validate.Evidence, about evidenceAbout) (total Tally) {
	t.Helper()
	for _, follower := range c.Pages {
		follower.Reaches(ctx, evidence.Writes.Newest())
		recording := follower.Stop()
		if evidence, judged := about(recording.Selection, c.evidenceOf(follower, evidence)); judged {
			WantPagesWithoutViolation(t, recording, evidence)
		}
		total.count(&recording.Recording)
		total.pages += len(recording.Calls)
	}
	return total
}

// finishCounts is finishPages for counts.
func (c *ResourceTraffic) finishCounts(ctx context.Context, t *testing.T, evidence validate.Evidence, about evidenceAbout) (total Tally) {
	t.Helper()
	for _, follower := range c.Counts {
		follower.Reaches(ctx, evidence.Writes.Newest())
		recording := follower.Stop()
		if evidence, judged := about(recording.Selection, c.evidenceOf(follower, evidence)); judged {
			WantCountsWithoutViolation(t, recording, evidence)
		}
		for _, call := range recording.Calls {
			total.counts += len(call.Responses)
		}
	}
	return total
}

// WantCountsWithoutViolation is WantNoViolation for a recording of counts.
func WantCountsWithoutViolation(t *testing.T, recording *validate.CountsRecording, evidence validate.Evidence) {
	t.Helper()
	violations := recording.Violations(evidence)
	for _, violation := range shown(violations) {
		t.Error(violation)
	}
	if len(violations) > shownViolations {
		t.Errorf("%s: %d violations", recording.Name, len(violations))
	}
}

// WantPagesWithoutViolation is WantNoViolation for a recording of pages.
func WantPagesWithoutViolation(t *testing.T, recording *validate.PageRecording, evidence validate.Evidence) {
	t.Helper()
	violations := recording.Violations(evidence)
	for i, violation := range violations {
		if i == shownViolations {
			t.Errorf("%s: %d violations", recording.Name, len(violations))
			break
		}
		t.Errorf("%s\nafter\n  %s", violation, strings.Join(record.PagesBefore(recording, violation), "\n  "))
	}
	if len(violations) == 0 {
		return
	}
	path, err := record.SavePages(recording)
	if err != nil {
		t.Error(err)
		return
	}
	t.Logf("the complete stream is in %s", path)
}
