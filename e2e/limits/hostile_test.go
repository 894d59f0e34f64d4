package limits_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// hostileMemory bounds the service's memory, as the operating system counts it, while it receives
// hostile requests.
const hostileMemory = 256 << 20

// nearlyTooLarge is slightly below the limit of a request.
const nearlyTooLarge = 3 << 20

// hostileBodies are objects that are small but expensive to read, and a part of the required error
// for each.
var hostileBodies = map[string]struct{ text, says string }{
	"objects in objects":             {hostile(`{"a":`, 100_000, "1", "}"), "depth"},
	"lists in lists":                 {hostile("[", 100_000, "", "]"), "depth"},
	"lists that do not end":          {strings.Repeat("[", nearlyTooLarge), ""},
	"YAML lists in lists":            {"metadata: {name: one}\ndata: " + strings.Repeat("[", nearlyTooLarge), ""},
	"YAML sequences in a line":       {"metadata: {name: one}\ndata:\n" + strings.Repeat("- ", nearlyTooLarge/4), ""},
	"YAML aliases of aliases":        {laughs(12), ""},
	"a number of many digits":        {`{"metadata":{"name":"one"},"data":{"a":` + strings.Repeat("9", 200_000) + "}}", ""},
	"a number with a large exponent": {`{"metadata":{"name":"one"},"data":{"a":1e999999999}}`, ""},
	"one member many times":          {`{"metadata":{"name":"one"},"data":{` + strings.Repeat(`"a":"b",`, 20_000) + `"a":"c"}}`, ""},
	"an unterminated string":         {`{"metadata":{"name":"` + strings.Repeat(`\u0041`, nearlyTooLarge/6), ""},
	"many documents":                 {strings.Repeat("---\n", 100_000), ""},
	"a document of directives":       {strings.Repeat("%YAML 1.2\n", nearlyTooLarge/10), ""},
	"a document of anchors":          {anchors(10_000), ""},
	"a key that is an object":        {"? {a: b}\n: c\n", ""},
	"a document in UTF-16":           {"\xff\xfe{\x00}\x00", ""},
}

func hostile(open string, times int, inside, shut string) string {
	return `{"metadata":{"name":"one"},"data":` + strings.Repeat(open, times) + inside + strings.Repeat(shut, times) + "}"
}

// laughs returns YAML with ten to a power of elements when its aliases are expanded.
func laughs(power int) string {
	var text strings.Builder
	text.WriteString("metadata: {name: one}\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < power; i++ {
		fmt.Fprintf(&text, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), i-1)
	}
	return text.String()
}

func anchors(count int) string {
	var text strings.Builder
	for i := range count {
		fmt.Fprintf(&text, "a%d: &a%d b\n", i, i)
	}
	return text.String()
}

// TestHostileBodies_AreRejectedWithinBounds sends each body with each call that accepts a body.
func TestHostileBodies_AreRejectedWithinBounds(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, kit.CrowdPatience)
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	sorts := kit.WritableResources(ctx, t, namespace)
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.GRPC).Resources
	for name, body := range hostileBodies {
		for sort, resource := range sorts {
			for verb, send := range bodyTakers(client, resource.Name, namespace) {
				err := send(ctx, []byte(body.text))
				if !refuses(err) {
					t.Errorf("%s, %s, %s: %v", name, sort, verb, shortened(err))
					continue
				}
				kit.WantWords(t, err.Error(), body.says)
			}
		}
	}
	if peak := peakMemory(t, service.PID()); peak > hostileMemory {
		t.Errorf("the service used %d MiB, want at most %d", peak>>20, hostileMemory>>20)
	} else {
		t.Logf("the service used at most %d MiB", peak>>20)
	}
}

// bodyTakers returns the calls that send a body.
func bodyTakers(client kit.ResourceClient, resource, namespace string) map[string]func(context.Context, []byte) error {
	return map[string]func(context.Context, []byte) error{
		"create": func(ctx context.Context, body []byte) error {
			_, err := client.Create(ctx, &kubeconnectv1.CreateRequest{
				Resource: resource, Namespace: namespace, DryRun: true,
				FieldValidation: kubeconnectv1.FieldValidation_FIELD_VALIDATION_STRICT,
				Body:            &kubeconnectv1.CreateRequest_Data{Data: body},
			})
			return err
		},
		"update": func(ctx context.Context, body []byte) error {
			_, err := client.Update(ctx, &kubeconnectv1.UpdateRequest{
				Resource: resource, Namespace: namespace, Name: "one", DryRun: true,
				Preconditions: &kubeconnectv1.Preconditions{Uid: "none"},
				Body:          &kubeconnectv1.UpdateRequest_Data{Data: body},
			})
			return err
		},
		"merge": func(ctx context.Context, body []byte) error {
			_, err := client.Patch(ctx, &kubeconnectv1.PatchRequest{
				Resource: resource, Namespace: namespace, Name: "one", DryRun: true,
				Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE, Preconditions: &kubeconnectv1.Preconditions{Uid: "none"},
				Body: &kubeconnectv1.PatchRequest_Data{Data: body},
			})
			return err
		},
		"apply": func(ctx context.Context, body []byte) error {
			_, err := client.Patch(ctx, &kubeconnectv1.PatchRequest{
				Resource: resource, Namespace: namespace, Name: "one", DryRun: true,
				Type: kubeconnectv1.PatchType_PATCH_TYPE_APPLY, FieldManager: "hostile", Preconditions: &kubeconnectv1.Preconditions{Uid: "none"},
				Body: &kubeconnectv1.PatchRequest_Data{Data: body},
			})
			return err
		},
	}
}

// refuses reports whether an error blames the request, and the request neither succeeded nor
// exhausted the service.
func refuses(err error) bool {
	switch connect.CodeOf(err) {
	case connect.CodeInvalidArgument, connect.CodeNotFound, connect.CodeAborted, connect.CodeResourceExhausted:
		return err != nil
	}
	return false
}

// shortened returns an error's message without most of its quoted text.
func shortened(err error) string {
	text := fmt.Sprint(err)
	return text[:min(len(text), 300)]
}

// peakMemory returns the peak memory of a process in bytes; its current memory where the operating
// system does not report the peak.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	peak, ok := memoryStatus(t, pid, "VmHWM:")
	if !ok {
		return kit.ResidentMemory(t, pid)
	}
	return peak
}

// memoryStatus returns a number of bytes from Linux's status of a process; false on other systems.
func memoryStatus(t *testing.T, pid int, name string) (size int, ok bool) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	_, after, _ := bytes.Cut(status, []byte(name))
	kibibytes, err := strconv.Atoi(string(bytes.Fields(after)[0]))
	if err != nil {
		t.Fatal(err)
	}
	return kibibytes << 10, true
}
