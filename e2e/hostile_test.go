package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"connectrpc.com/connect"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// hostileMemory is what the service may need at most, as the operating system counts it,
// while it is sent what is written to harm it.
const hostileMemory = 256 << 20

// nearlyTooLarge is a little less than a request may have.
const nearlyTooLarge = 3 << 20

// hostileBodies are objects that are small for what they ask of whoever reads them, and what
// an answer must say of each.
var hostileBodies = map[string]struct{ text, says string }{
	"objects in objects":        {hostile(`{"a":`, 500_000, "1", "}"), "depth"},
	"lists in lists":            {hostile("[", nearlyTooLarge/4, "", "]"), "depth"},
	"lists that do not end":     {strings.Repeat("[", nearlyTooLarge), ""},
	"YAML lists in lists":       {"metadata: {name: one}\ndata: " + strings.Repeat("[", nearlyTooLarge), ""},
	"YAML sequences in a line":  {"metadata: {name: one}\ndata:\n" + strings.Repeat("- ", nearlyTooLarge/4), ""},
	"YAML that laughs":          {laughs(12), ""},
	"a number of many digits":   {`{"metadata":{"name":"one"},"data":{"a":` + strings.Repeat("9", 200_000) + "}}", ""},
	"a number of great weight":  {`{"metadata":{"name":"one"},"data":{"a":1e999999999}}`, ""},
	"one member many times":     {`{"metadata":{"name":"one"},"data":{` + strings.Repeat(`"a":"b",`, 20_000) + `"a":"c"}}`, ""},
	"a text without an end":     {`{"metadata":{"name":"` + strings.Repeat(`\u0041`, nearlyTooLarge/6), ""},
	"many documents":            {strings.Repeat("---\n", 100_000), ""},
	"a document of directives":  {strings.Repeat("%YAML 1.2\n", nearlyTooLarge/10), ""},
	"a document of anchors":     {anchors(10_000), ""},
	"a key that is an object":   {"? {a: b}\n: c\n", ""},
	"a document that is a jump": {"\xff\xfe{\x00}\x00", ""},
}

func hostile(open string, times int, inside, shut string) string {
	return `{"metadata":{"name":"one"},"data":` + strings.Repeat(open, times) + inside + strings.Repeat(shut, times) + "}"
}

// laughs is YAML that has ten to a power of elements when its aliases are followed.
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

// TestHostileBodiesAreRefusedWithinBounds sends each body to whatever takes one.
func TestHostileBodiesAreRefusedWithinBounds(t *testing.T) {
	t.Parallel()
	ctx := deadlineAfter(t, crowdPatience)
	namespace := newNamespace(ctx, t, cluster(t))
	sorts := bothSorts(ctx, t, namespace)
	service := harness.StartService(t, cluster(t).Kubeconfig)
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.GRPC).Resources
	for name, body := range hostileBodies {
		for sort, resource := range sorts {
			for verb, send := range bodyTakers(client, resource.name, namespace) {
				err := send(ctx, []byte(body.text))
				if !refuses(err) {
					t.Errorf("%s, %s, %s: answers %v", name, sort, verb, shortened(err))
					continue
				}
				wantWords(t, err.Error(), body.says)
			}
		}
	}
	if peak := peakMemory(t, service.PID()); peak > hostileMemory {
		t.Errorf("the service needed %d MiB, want at most %d", peak>>20, hostileMemory>>20)
	} else {
		t.Logf("the service needed %d MiB at most", peak>>20)
	}
}

// bodyTakers are the ways in which a body can be sent.
func bodyTakers(client resourceClient, resource, namespace string) map[string]func(context.Context, []byte) error {
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

// refuses reports whether an answer says that the request was wrong, and neither that it was
// carried out nor that the service was at its end.
func refuses(err error) bool {
	switch connect.CodeOf(err) {
	case connect.CodeInvalidArgument, connect.CodeNotFound, connect.CodeAborted, connect.CodeResourceExhausted:
		return err != nil
	}
	return false
}

// shortened is what an error says, without most of what it quotes.
func shortened(err error) string {
	text := fmt.Sprint(err)
	return text[:min(len(text), 300)]
}

// peakMemory is the most that a process has needed so far, in bytes; what it needs now where
// the operating system does not tell.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	peak, ok := memoryStatus(t, pid, "VmHWM:")
	if !ok {
		return residentMemory(t, pid)
	}
	return peak
}

// memoryStatus returns a number of bytes that Linux shows of a process; false on other systems.
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
