package callerrors

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectproto"
	"google.golang.org/protobuf/encoding/protojson"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/internal/statustest"
)

// wantBounded fails unless an error fits into maxErrorBytes in each protocol and codec.
func wantBounded(t testing.TB, err error) {
	t.Helper()
	_, trailers := statustest.Trailers(t, err)
	call, stream := statustest.JSON(t, err)
	if max(trailers, call, stream) > maxErrorBytes {
		t.Errorf("the error has %d bytes in trailers, %d as JSON and %d at the end of a stream", trailers, call, stream)
	}
}

// TestConnectError_FitsIntoEachEncoding maps arbitrary statuses of the API server, and other errors.
func TestConnectError_FitsIntoEachEncoding(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		status := anyStatus(r)
		var err error = &apierrors.StatusError{ErrStatus: status}
		if rapid.Bool().Draw(r, "has a code") {
			err = WithPrefix(err, "watch 1 ("+CutName(anyText(r, "resource"))+")")
		}
		mapped := ConnectError(err)
		if code := connect.CodeOf(mapped); code != codeOf(status) {
			r.Errorf("the code is %s, want %s", code, codeOf(status))
		}
		detail := statustest.Of(t, mapped)
		if detail.GetReason() != string(status.Reason) {
			r.Errorf("the reason is %q, want %q", detail.GetReason(), status.Reason)
		}
		if kept, omitted := len(detail.GetCauses()), int(detail.GetOmittedCauseCount()); kept+omitted != len(status.Details.Causes) {
			r.Errorf("%d causes and %d omitted of %d", kept, omitted, len(status.Details.Causes))
		}
		wantBounded(t, mapped)
		trailers, _ := statustest.Trailers(t, mapped)
		if got := trailers.Get("Grpc-Status"); got != fmt.Sprint(int(codeOf(status))) {
			r.Errorf("grpc-status is %s", got)
		}
		if text := protojson.Format(detail); !utf8.ValidString(text) || text == "" {
			r.Errorf("the status cannot be read: %q", text)
		}
		var coded *connect.Error
		if errors.As(mapped, &coded); !utf8.ValidString(coded.Message()) {
			r.Errorf("the message is not UTF-8: %q", coded.Message())
		}
	})
}

// TestErrorBytes_IsWhatIsSent compares the computed sizes with the sent sizes. They may differ only
// by empty fields, which are not sent.
func TestErrorBytes_IsWhatIsSent(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		status := encode.Status(anyStatus(r))
		if rapid.Bool().Draw(r, "no status") {
			status = nil
		}
		encode.ValidUTF8(status)
		message := strings.ToValidUTF8(anyText(r, "message"), "")
		mapped := connect.NewError(connect.CodeAborted, message)
		if status != nil {
			detail, err := connectproto.NewErrorDetail(status)
			if err != nil {
				r.Fatal(err)
			}
			mapped = mapped.WithDetail(detail)
		}
		const empty = 6
		computed := trailerBytes(connect.CodeAborted, message, status)
		if _, sent := statustest.Trailers(t, mapped); sent > computed || sent+empty < computed {
			r.Errorf("%d bytes are sent, computed are %d", sent, computed)
		}
		computed = jsonBytes(connect.CodeAborted, message, status)
		if call, stream := statustest.JSON(t, mapped); call > stream || stream > computed || stream+len(`"message":"",`) < computed {
			r.Errorf("%d bytes of JSON are sent, %d at the end of a stream, computed are %d", call, stream, computed)
		}
		if !isTooLarge(connect.CodeAborted, message, status) && max(computed, trailerBytes(connect.CodeAborted, message, status)) > maxErrorBytes {
			r.Errorf("%d bytes are not too large", computed)
		}
	})
}

// anyText returns a string of any length and bytes.
func anyText(r *rapid.T, label string) string {
	part := rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"", "x", `"`, `\`, "\"{\\\"a\\\":1}\"", "é", "世界", "\xff", "\x00", "%", "…", "\u2028", "a b\n"}),
	).Draw(r, label)
	return strings.Repeat(part, rapid.SampledFrom([]int{1, 1, 1, 2, 50, 1000, 20000}).Draw(r, label+" is repeated"))
}

func anyStatus(r *rapid.T) metav1.Status {
	status := metav1.Status{
		Reason:  rapid.SampledFrom([]metav1.StatusReason{"", "Invalid", "Forbidden", "Conflict", "NoSuchReason", "Internal Error"}).Draw(r, "reason"),
		Code:    rapid.SampledFrom([]int32{0, 400, 422, 500, 599}).Draw(r, "code"),
		Message: anyText(r, "message"),
		Details: &metav1.StatusDetails{
			Name: anyText(r, "name"), Group: anyText(r, "group"), Kind: anyText(r, "kind"), UID: types.UID(anyText(r, "uid")),
			RetryAfterSeconds: rapid.Int32().Draw(r, "retry after"),
		},
	}
	for range rapid.SampledFrom([]int{0, 1, 2, 30, 300}).Draw(r, "causes") {
		status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{})
	}
	for i := range min(len(status.Details.Causes), 4) {
		status.Details.Causes[i] = metav1.StatusCause{
			Type: metav1.CauseType(anyText(r, "type")), Message: anyText(r, "cause"), Field: anyText(r, "field"),
		}
	}
	return status
}

// TestConnectError_BoundsStringsOfCallers has errors with strings of the caller.
func TestConnectError_BoundsStringsOfCallers(t *testing.T) {
	long := strings.Repeat("é\"", 40_000)
	for name, err := range map[string]error{
		"a resource":             &discovery.UnknownResourceError{Name: long, NearMisses: []string{"pods"}},
		"a filter":               apierror.BadRequest("filter: %s", long),
		"a watch of many":        WithPrefix(apierror.BadRequest("filter: %s", long), "watch 3 ("+CutName(long)+")"),
		"an error that is plain": errors.New(long),
		"an error with a code":   connect.NewError(connect.CodeNotFound, long),
		"bytes":                  errors.New("\xff\xfe"),
		"wrapped":                fmt.Errorf("%s: %w", long, auth.ErrUnauthenticated),
	} {
		t.Run(name, func(t *testing.T) {
			mapped := ConnectError(err)
			wantBounded(t, mapped)
			if !utf8.ValidString(mapped.Error()) {
				t.Errorf("%q is not UTF-8", mapped.Error())
			}
		})
	}
}

func TestConnectError_LeavesAShortErrorAsItIs(t *testing.T) {
	text := strings.Repeat("x", 1500)
	mapped := ConnectError(apierrors.NewBadRequest(text))
	if detail := statustest.Of(t, mapped); detail.GetMessage() != text || !strings.HasSuffix(mapped.Error(), ": "+text) {
		t.Errorf("the message is %q, in the status %q", mapped, detail.GetMessage())
	}
}

// TestConnectError_SaysWhatFollowsAQuotedObject has the two messages that the API server returns
// for a patch with a wrong type.
func TestConnectError_SaysWhatFollowsAQuotedObject(t *testing.T) {
	object := `{"apiVersion":"apps/v1","spec":{"text":"` + strings.Repeat(`a \"b\" `, 8000) + `"}}`
	const wrong = "unrecognized type: int32"
	err := apierrors.NewInvalid(podKind, "a", field.ErrorList{field.Invalid(field.NewPath("patch"), object, wrong)})
	mapped := ConnectError(err)
	detail := statustest.Of(t, mapped)
	for name, text := range map[string]string{
		"the error": mapped.Error(), "the status": detail.GetMessage(), "the cause": detail.GetCauses()[0].GetMessage(),
	} {
		if !strings.HasSuffix(text, `…": `+wrong) || !strings.Contains(text, "apps/v1") || len(text) > maxMessageBytes {
			t.Errorf("%s says %q", name, text)
		}
	}
	if detail.GetReason() != "Invalid" || detail.GetKind() != "Pod" || detail.GetName() != "a" || detail.GetOmittedCauseCount() != 0 {
		t.Errorf("the status is %v", detail)
	}
}

func TestConnectError_KeepsAsManyCausesAsFit(t *testing.T) {
	var all field.ErrorList
	for i := range 300 {
		all = append(all, field.Invalid(field.NewPath("data").Key(fmt.Sprintf("a key %d", i)), "x", "not a key"))
	}
	all[1].Detail = strings.Repeat("a long one ", 2000)
	detail := statustest.Of(t, ConnectError(apierrors.NewInvalid(podKind, "a", all)))
	causes := detail.GetCauses()
	if len(causes) < 10 || len(causes)+int(detail.GetOmittedCauseCount()) != 300 {
		t.Fatalf("%d causes, and %d omitted", len(causes), detail.GetOmittedCauseCount())
	}
	for i, cause := range causes {
		if want := fmt.Sprintf("data[a key %d]", i); cause.GetField() != want || cause.GetReason() != "FieldValueInvalid" {
			t.Errorf("cause %d is %v", i, cause)
		}
	}
	if text := causes[1].GetMessage(); len(text) > maxCauseBytes || !strings.HasSuffix(text, ellipsis) {
		t.Errorf("the long cause says %q", text)
	}
	if text := detail.GetMessage(); !strings.HasSuffix(text, ellipsis) {
		t.Errorf("the message is %q", text)
	}
}

// TestConnectError_UsesRemainingBytesForLongMessages has a message of a webhook, without causes.
func TestConnectError_UsesRemainingBytesForLongMessages(t *testing.T) {
	detail := statustest.Of(t, ConnectError(statusWith(strings.Repeat("a rule is violated; ", 140))))
	if text := detail.GetMessage(); len(text) != 140*len("a rule is violated; ") {
		t.Errorf("of the message %d bytes are left", len(text))
	}
	detail = statustest.Of(t, ConnectError(statusWith(strings.Repeat("a rule is violated; ", 5000))))
	if text := detail.GetMessage(); len(text) < 2*maxMessageBytes || !strings.HasSuffix(text, ellipsis) {
		t.Errorf("of the message %d bytes are left", len(text))
	}
}

func statusWith(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Reason: "Denied", Code: 403, Message: message}}
}

// TestCut_EndsAtACharacter cuts strings at each length.
func TestCut_EndsAtACharacter(t *testing.T) {
	const text = "aé世😀\"\\\"b%"
	for most := len(ellipsis); most <= 3*len(text); most++ {
		if got := Cut(text, most); !utf8.ValidString(got) || len(got) > most || len(got) < len(text) && !strings.HasSuffix(got, ellipsis) {
			t.Errorf("cut to %d it is %q", most, got)
		}
		if got := cutEncoded(text, most); most >= percentBytes(ellipsis) && (!utf8.ValidString(got) || percentBytes(got) > most) {
			t.Errorf("cut to %d encoded bytes it is %q", most, got)
		}
	}
}
