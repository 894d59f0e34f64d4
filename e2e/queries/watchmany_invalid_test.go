package queries_test

import (
	"context"
	"errors"
	"testing"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// firstOfMany returns the first message of a stream of several watches.
func firstOfMany(ctx context.Context, client kit.ResourceClient, request *kubeconnectv1.WatchManyRequest) (*kubeconnectv1.WatchManyResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := responses.Of(client.WatchMany(ctx, request))
	if err != nil {
		return nil, err
	}
	if !stream.Receive() {
		return nil, errors.Join(stream.Err(), stream.Close())
	}
	return stream.Msg(), nil
}

// TestWatchMany_InvalidRequestsAreRejected expects no event of a valid watch before the error.
func TestWatchMany_InvalidRequestsAreRejected(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	pods := &kubeconnectv1.WatchSpec{Resource: "pods", Namespace: "default"}
	maps := &kubeconnectv1.WatchSpec{Resource: "configmaps", Namespace: "default"}
	many := make([]*kubeconnectv1.WatchSpec, 101)
	for i := range many {
		many[i] = pods
	}
	first, err := firstOfMany(ctx, client, &kubeconnectv1.WatchManyRequest{Watches: []*kubeconnectv1.WatchSpec{maps, pods}})
	if err != nil {
		t.Fatal(err)
	}
	token := first.GetResumeToken()
	single := kit.LastPoint(t, record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "pods", Namespace: "default"}).Synced(ctx)).Token
	for name, test := range map[string]struct {
		watches []*kubeconnectv1.WatchSpec
		token   string
		code    connect.Code
		words   string
	}{
		"no watches":          {code: connect.CodeInvalidArgument, words: "0 watches"},
		"too many watches":    {watches: many, code: connect.CodeInvalidArgument, words: "101 watches"},
		"an invalid selector": {watches: []*kubeconnectv1.WatchSpec{pods, {Resource: "pods", LabelSelector: "a in ("}}, code: connect.CodeInvalidArgument, words: "watch 1 (pods): "},
		"a name without a namespace": {
			watches: []*kubeconnectv1.WatchSpec{{Resource: "pods", Name: "one"}, pods}, code: connect.CodeInvalidArgument, words: "watch 0 (pods): ",
		},
		"an unsupported patch": {
			watches: []*kubeconnectv1.WatchSpec{pods, {Resource: "pods", PatchFormat: kubeconnectv1.PatchFormat_PATCH_FORMAT_JSON}},
			code:    connect.CodeInvalidArgument, words: "watch 1 (pods): ",
		},
		"an unknown resource":       {watches: []*kubeconnectv1.WatchSpec{pods, maps, {Resource: "podz"}}, code: connect.CodeNotFound, words: "watch 2 (podz): "},
		"a resource without watch":  {watches: []*kubeconnectv1.WatchSpec{pods, {Resource: "componentstatuses"}}, code: connect.CodeUnimplemented, words: "watch 1 (componentstatuses): "},
		"no resource":               {watches: []*kubeconnectv1.WatchSpec{pods, {}}, code: connect.CodeInvalidArgument, words: "watch 1"},
		"a token of another order":  {watches: []*kubeconnectv1.WatchSpec{pods, maps}, token: token, code: connect.CodeInvalidArgument, words: "resume_token"},
		"a token of more watches":   {watches: []*kubeconnectv1.WatchSpec{maps}, token: token, code: connect.CodeInvalidArgument, words: "resume_token"},
		"a token of fewer watches":  {watches: []*kubeconnectv1.WatchSpec{maps, pods, pods}, token: token, code: connect.CodeInvalidArgument, words: "resume_token"},
		"a token of a single watch": {watches: []*kubeconnectv1.WatchSpec{pods}, token: single, code: connect.CodeInvalidArgument, words: "resume_token"},
		"an invalid token":          {watches: []*kubeconnectv1.WatchSpec{maps, pods}, token: token + "A", code: connect.CodeInvalidArgument, words: "resume_token"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := firstOfMany(ctx, client, &kubeconnectv1.WatchManyRequest{Watches: test.watches, ResumeToken: test.token})
			kit.WantError(t, err, test.code, test.words)
		})
	}
	err = kit.WatchError(ctx, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: "default", ResumeToken: token})
	kit.WantError(t, err, connect.CodeInvalidArgument, "resume_token")
}
