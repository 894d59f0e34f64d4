package server

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
)

// jsonCall is a call of an RPC with a request in JSON.
type jsonCall struct {
	procedure, contentType, message string
	get                             bool
}

// do makes the call, and returns the status and the body of the response.
func (c jsonCall) do(t *testing.T, s *service) (int, string) {
	t.Helper()
	address, method, body := s.url+c.procedure, http.MethodPost, c.message
	if c.get {
		query := url.Values{"connect": {"v1"}, "encoding": {"json"}, "message": {c.message}}
		address, method, body = address+"?"+query.Encode(), http.MethodGet, ""
	}
	if strings.Contains(c.contentType, "connect+") {
		body = string(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body)))) + body
	}
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer x")
	request.Header.Set("Content-Type", c.contentType)
	response, err := s.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

// wantBadRequest fails unless a response has the error INVALID_ARGUMENT, which contains mention, and
// the Status of a bad request. The body of a stream has a prefix.
func wantBadRequest(t *testing.T, answer, mention string) {
	t.Helper()
	type failure struct {
		Code, Message string
		Details       []struct{ Value string }
	}
	var got struct {
		failure
		Error *failure
	}
	if err := json.Unmarshal([]byte(answer[max(0, strings.IndexByte(answer, '{')):]), &got); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	if got.Error != nil {
		got.failure = *got.Error
	}
	if got.Code != "invalid_argument" || !strings.Contains(got.Message, mention) || len(got.Details) != 1 {
		t.Fatalf("returned %s", answer)
	}
	detail, err := base64.RawStdEncoding.DecodeString(got.Details[0].Value)
	status := &kubeconnectv1.Status{}
	if err != nil || proto.Unmarshal(detail, status) != nil || status.GetReason() != "BadRequest" || status.GetMessage() != got.Message {
		t.Errorf("the Status is %v (%v)", status, err)
	}
}

// TestStrictJSON_RejectsUnknownNames misspells fields and enum values in each form of a call.
func TestStrictJSON_RejectsUnknownNames(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	const list, watch = kubeconnectv1connect.ResourceServiceListProcedure, kubeconnectv1connect.ResourceServiceWatchProcedure
	const deleteMany = kubeconnectv1connect.ResourceServiceDeleteCollectionProcedure
	const unary, stream = "application/json", "application/connect+json"
	for name, test := range map[string]struct {
		jsonCall
		mention string
	}{
		"a selector":           {jsonCall{deleteMany, unary, `{"resource":"pods","namespace":"default","labelSelectr":"a=b"}`, false}, `unknown field "labelSelectr"; use the fields of kubeconnect.v1.DeleteCollectionRequest and`},
		"with a charset":       {jsonCall{list, unary + "; charset=utf-8", `{"resource":"pods","labelSelectr":"a=b"}`, false}, `"labelSelectr"`},
		"by GET":               {jsonCall{list, unary, `{"resource":"pods","labelSelectr":"a=b"}`, true}, `"labelSelectr"`},
		"an enum value":        {jsonCall{list, unary, `{"resource":"pods","encoding":"ENCODING_JASON"}`, false}, `enum field encoding: "ENCODING_JASON"`},
		"a nested field":       {jsonCall{list, unary, `{"resource":"pods","related":{"knd":"x"}}`, false}, `"knd"`},
		"no JSON":              {jsonCall{list, unary, `{"resource":`, false}, "the JSON of the request is invalid"},
		"nothing":              {jsonCall{list, unary, "", false}, "it is empty"},
		"in a stream":          {jsonCall{watch, stream, `{"resource":"pods","labelSelectr":"a=b"}`, false}, `"labelSelectr"; use the fields of kubeconnect.v1.WatchRequest and`},
		"an enum, in a stream": {jsonCall{watch, stream, `{"resource":"pods","encoding":"JSON"}`, false}, `"JSON"`},
	} {
		t.Run(name, func(t *testing.T) {
			code, answer := test.do(t, s)
			if want := map[bool]int{false: http.StatusBadRequest, true: http.StatusOK}[test.contentType == stream]; code != want {
				t.Errorf("the HTTP status is %d, want %d", code, want)
			}
			wantBadRequest(t, answer, test.mention)
		})
	}
}

func TestStrictJSON_AcceptsBothNamesOfAField(t *testing.T) {
	s := newService(t, servertest.PodsAPI(), auth.KubeconfigAuthenticator{})
	for _, message := range []string{`{"resource":"pods","labelSelector":"a=b"}`, `{"resource":"pods","label_selector":"a=b","encoding":2}`} {
		for _, get := range []bool{false, true} {
			call := jsonCall{kubeconnectv1connect.ResourceServiceListProcedure, "application/json", message, get}
			if code, answer := call.do(t, s); code != http.StatusOK {
				t.Errorf("%s returned %d: %s", message, code, answer)
			}
		}
	}
}
