package main

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

// The questions that are asked of all pods, each of which the API server answers with all
// that it has.
var (
	// ofAnImage selects one in apps.
	ofAnImage  = "object.status.phase == 'Running' && object.spec.containers.exists(c, c.image.endsWith('/" + appOf(0) + ":2.14.3'))"
	fiveFields = []string{
		"metadata.name", "metadata.namespace", "spec.nodeName", "status.phase", "spec.containers[*].image",
	}
	newestFirst = "metadata.creationTimestamp desc"
)

// maxGroups is the most that may be asked for: each node is one.
const maxGroups = 10_000

// firstPage is how many objects a page shows to people.
const firstPage = 50

// question is something that is asked of all pods.
type question struct {
	row
	accept string // what the API server is asked for instead
	ask    func(context.Context, *caller) error
}

// questions are all that are asked, in protobuf where nothing else is said.
func (l *lab) questions() []question {
	cpu := func(what, against, first string) row {
		return row{
			what: fmt.Sprintf(what, l.pods) + ", server CPU", against: "API server, all pods, " + against + ", resourceVersion=0",
			unit: "ms", ratio: less, first: first,
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
			list(l.pods/apps, &kubeconnectv1.ListRequest{Filter: ofAnImage, Encoding: protobuf}),
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

// compareQuestions compares what it costs to answer a question with what it costs the API
// server to send everything, so that the caller can look for the answer there.
func (l *lab) compareQuestions(ctx context.Context, results *report) error {
	asked := l.questions()
	size := row{
		what: fmt.Sprintf("five fields of %d pods, bytes", l.pods), against: "API server, all pods, protobuf",
		unit: "MB", ratio: less, first: "20×",
	}
	err := l.call(ctx, func(c *caller) error {
		return l.eachRound(func(int) error {
			theirs, err := c.listsEverything(ctx)
			if err != nil {
				return err
			}
			for i := range asked {
				ours, err := costOf(c.service.PID(), func() error { return asked[i].ask(ctx, c) })
				if err != nil {
					return err
				}
				asked[i].ours = append(asked[i].ours, ours.cpu)
				asked[i].theirs = append(asked[i].theirs, theirs[asked[i].accept].cpu)
			}
			return c.addSizes(ctx, &size)
		})
	})
	for _, q := range asked {
		results.add(q.row)
	}
	results.add(size)
	return err
}

// listsEverything is what it costs the API server to send all pods, in each form.
func (c *caller) listsEverything(ctx context.Context) (costs map[string]cost, err error) {
	costs = make(map[string]cost)
	for _, accept := range []string{asProtobuf, asJSON} {
		if costs[accept], err = c.listAPIServer(ctx, "", "", accept, c.lab.pods); err != nil {
			return nil, err
		}
	}
	return costs, nil
}

// addSizes adds the bytes of five fields, and of all.
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

// wantListed lists, and fails unless there are as many objects as there should be.
func (c *caller) wantListed(ctx context.Context, request *kubeconnectv1.ListRequest, want int) error {
	got, err := c.service.list(ctx, c.ours, request)
	if err == nil && got.objects != want {
		err = fmt.Errorf("the list has %d objects, want %d", got.objects, want)
	}
	return err
}

// wantFirstPage asks for the first page of a sorted list, and for no other.
func (c *caller) wantFirstPage(ctx context.Context) error {
	var page listed
	next, err := c.service.page(ctx, c.ours, &kubeconnectv1.ListRequest{
		Resource: "pods", OrderBy: newestFirst, PageSize: firstPage, Encoding: kubeconnectv1.Encoding_ENCODING_PROTOBUF,
	}, &page)
	if err == nil && (page.objects != firstPage || next == "") {
		err = fmt.Errorf("the first page has %d objects, want %d and more to come", page.objects, firstPage)
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
	answer, err := c.service.call(c.ours, kubeconnectv1connect.ResourceServiceCountObjectsProcedure,
		&kubeconnectv1.CountObjectsRequest{Resource: "pods", GroupBy: []string{"spec.nodeName"}, MaxGroups: maxGroups}, split.add)
	if err != nil {
		return err
	}
	if err := answer.wait(ctx); err != nil {
		return err
	}
	if want := c.lab.pods / podsOfNode; groups != want {
		return fmt.Errorf("there are %d groups, want one for each of %d nodes", groups, want)
	}
	return nil
}

var countResponseGroups = numberOf(&kubeconnectv1.CountObjectsResponse{}, "groups")
