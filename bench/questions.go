package main

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

// The queries over all pods. The API server can evaluate none of them, and would have to send all pods.
var (
	// imageFilter matches one of every apps pods.
	imageFilter = "object.status.phase == 'Running' && " +
		"object.spec.containers.exists(c, c.image.endsWith('/" + appOf(0) + ":2.14.3'))"
	fiveFields = []string{
		"metadata.name", "metadata.namespace", "spec.nodeName", "status.phase", "spec.containers[*].image",
	}
	newestFirst = "metadata.creationTimestamp desc"
)

// maxGroups is the largest number of groups that a request may ask for. Each node is a group.
const maxGroups = 10_000

// firstPage is the size of a page for display to people.
const firstPage = 50

// question is a query over all pods.
type question struct {
	row
	accept string // media type of the API server's list of all pods
	ask    func(context.Context, *caller) error
}

// questions returns all questions. Objects are requested as protobuf unless the row names JSON.
func (l *lab) questions() []question {
	cpu := func(what, against, first string) row {
		return row{
			what:    fmt.Sprintf(what, l.pods) + ", server CPU",
			against: "API server, all pods, " + against + ", resourceVersion=0",
			unit:    "ms", ratio: less, first: first,
		}
	}
	list := func(want int, request *kubeconnectv1.ListRequest) func(context.Context, *caller) error {
		request.Resource = "pods"
		return func(ctx context.Context, c *caller) error { return c.wantListed(ctx, request, want) }
	}
	const protobuf, text = kubeconnectv1.Encoding_ENCODING_PROTOBUF, kubeconnectv1.Encoding_ENCODING_JSON
	return []question{
		{
			cpu("five fields of %d pods", "protobuf", "10×"), asProtobuf,
			list(l.pods, &kubeconnectv1.ListRequest{Fields: fiveFields, Encoding: protobuf}),
		},
		{
			cpu("five fields of %d pods, both JSON", "JSON", "10×"), asJSON,
			list(l.pods, &kubeconnectv1.ListRequest{Fields: fiveFields, Encoding: text}),
		},
		{
			cpu("the pods of an image among %d, by CEL", "protobuf", ""), asProtobuf,
			list(l.pods/apps, &kubeconnectv1.ListRequest{Filter: imageFilter, Encoding: protobuf}),
		},
		{
			cpu("the newest 50 of %d pods", "protobuf", ""), asProtobuf,
			func(ctx context.Context, c *caller) error { return c.wantFirstPage(ctx) },
		},
		{
			cpu("how many of %d pods each node has", "protobuf", ""), asProtobuf,
			func(ctx context.Context, c *caller) error { return c.wantCounted(ctx) },
		},
	}
}

// compareQuestions compares the cost of a query at the service with the cost of sending all pods at
// the API server, where the caller would have to evaluate the query.
func (l *lab) compareQuestions(ctx context.Context, results *report) error {
	questions := l.questions()
	size := row{
		what: fmt.Sprintf("five fields of %d pods, bytes", l.pods), against: "API server, all pods, protobuf",
		unit: "MB", ratio: less, first: "20×",
	}
	err := l.withCaller(ctx, func(c *caller) error {
		return l.eachRound(func(int) error {
			theirs, err := c.fullListCosts(ctx)
			if err != nil {
				return err
			}
			for i := range questions {
				q := &questions[i]
				ours, err := costOf(c.service.PID(), func() error { return q.ask(ctx, c) })
				if err != nil {
					return err
				}
				q.ours = append(q.ours, ours.cpu)
				q.theirs = append(q.theirs, theirs[q.accept].cpu)
			}
			return c.addSizes(ctx, &size)
		})
	})
	for _, q := range questions {
		results.add(q.row)
	}
	results.add(size)
	return err
}

// fullListCosts returns the cost of a list of all pods at the API server, for each media type.
func (c *caller) fullListCosts(ctx context.Context) (costs map[string]cost, err error) {
	costs = make(map[string]cost)
	for _, accept := range []string{asProtobuf, asJSON} {
		if costs[accept], err = c.listAPIServer(ctx, "", "", accept, c.lab.pods); err != nil {
			return nil, err
		}
	}
	return costs, nil
}

// addSizes adds the bytes of the list with five fields, and of the API server's list with all fields.
func (c *caller) addSizes(ctx context.Context, size *row) error {
	ours, err := c.service.list(ctx, c.ours, &kubeconnectv1.ListRequest{
		Resource: "pods", Fields: fiveFields, Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF,
	})
	if err != nil {
		return err
	}
	theirs, err := c.lab.cluster.list(ctx, c.theirs, "", "", asProtobuf)
	size.ours, size.theirs = append(size.ours, float64(ours.bytes)/1e6), append(size.theirs, float64(theirs)/1e6)
	return err
}

// wantListed lists, and returns an error unless the number of objects is as expected.
func (c *caller) wantListed(ctx context.Context, request *kubeconnectv1.ListRequest, want int) error {
	got, err := c.service.list(ctx, c.ours, request)
	if err == nil && got.objects != want {
		err = fmt.Errorf("the list has %d objects, want %d", got.objects, want)
	}
	return err
}

// wantFirstPage requests the first page of a sorted list, and no other page.
func (c *caller) wantFirstPage(ctx context.Context) error {
	var page listed
	next, err := c.service.page(ctx, c.ours, &kubeconnectv1.ListRequest{
		Resource: "pods", OrderBy: newestFirst, PageSize: firstPage, Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF,
	}, &page)
	if err == nil && (page.objects != firstPage || next == "") {
		err = fmt.Errorf("the first page has %d objects and next page token %q, want %d objects and a token",
			page.objects, next, firstPage)
	}
	return err
}

// wantCounted counts the pods of each node.
func (c *caller) wantCounted(ctx context.Context) error {
	groups := 0
	split := &messages{head: grpcHead, each: func(message []byte) {
		eachField(message, func(number protowire.Number, _ []byte) {
			if number == countResponseGroups {
				groups++
			}
		})
	}}
	response, err := c.service.call(c.ours, kubeconnectv1connect.ResourceServiceCountProcedure,
		&kubeconnectv1.CountRequest{
			Resource: "pods", GroupBy: []string{"spec.nodeName"}, MaxGroups: maxGroups}, split.add)
	if err != nil {
		return err
	}
	if err := response.wait(ctx); err != nil {
		return err
	}
	if want := c.lab.pods / podsOfNode; groups != want {
		return fmt.Errorf("the response has %d groups, want one for each of %d nodes", groups, want)
	}
	return nil
}

var countResponseGroups = numberOf(&kubeconnectv1.CountResponse{}, "groups")
