package queries_test

import (
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// listed returns the results of a function for 0 to count-1, separated by commas.
func listed(count int, text func(int) string) string {
	var texts []string
	for i := range count {
		texts = append(texts, text(i))
	}
	return strings.Join(texts, ",")
}

// TestSelectors_AreBoundedTogether lists, counts and watches with selectors at their limits and above.
func TestSelectors_AreBoundedTogether(t *testing.T) {
	t.Parallel()
	ctx, client := kit.Deadline(t), kit.NewClient(t, kit.Cluster(t))
	absent := func(count int) string { return listed(count, func(i int) string { return fmt.Sprint("!label-", i) }) }
	other := func(count int) string {
		return listed(count, func(i int) string { return fmt.Sprint("metadata.name!=name-", i) })
	}
	among := func(count int) string {
		return "a notin (" + listed(count, func(i int) string { return fmt.Sprint("value-", i) }) + ")"
	}
	for name, test := range map[string]struct {
		labels, fields string
		words          string // of the error; empty for none
	}{
		"100 requirements":           {labels: absent(60), fields: other(40)},
		"101 requirements":           {labels: absent(60), fields: other(41), words: "101 requirements"},
		"a repeated requirement":     {labels: listed(500, func(int) string { return "!label" })},
		"1,000 values":               {labels: among(1000)},
		"1,001 values":               {labels: among(1001), words: "1001 values"},
		"1,001 values of two fields": {labels: among(999), fields: other(2), words: "1001 values"},
		"64 KiB of text":             {labels: strings.Repeat(" ", 64<<10-6) + "!label"},
		"more than 64 KiB of text":   {labels: strings.Repeat(" ", 64<<10-5) + "!label", words: "65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			want := func(err error) {
				t.Helper()
				if test.words != "" {
					kit.WantError(t, err, connect.CodeInvalidArgument, test.words)
				} else if err != nil {
					t.Error(err)
				}
			}
			_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: "default", LabelSelector: test.labels, FieldSelector: test.fields})
			want(err)
			_, err = client.Count(ctx, &kubeconnectv1.CountRequest{Resource: "configmaps", Namespace: "default", LabelSelector: test.labels, FieldSelector: test.fields})
			want(err)
			want(kit.WatchError(ctx, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: "default", LabelSelector: test.labels, FieldSelector: test.fields}))
		})
	}
}
