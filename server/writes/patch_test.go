package writes

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

const (
	jsonPatch  = kubeconnectv1.PatchType_PATCH_TYPE_JSON
	mergePatch = kubeconnectv1.PatchType_PATCH_TYPE_MERGE
	strategic  = kubeconnectv1.PatchType_PATCH_TYPE_STRATEGIC_MERGE
	apply      = kubeconnectv1.PatchType_PATCH_TYPE_APPLY
)

func data(text string) *kubeconnectv1.PatchRequest_Data {
	return &kubeconnectv1.PatchRequest_Data{Data: []byte(text)}
}

func value(t testing.TB, of any) *kubeconnectv1.PatchRequest_Value {
	t.Helper()
	v, err := structpb.NewValue(of)
	if err != nil {
		t.Fatal(err)
	}
	return &kubeconnectv1.PatchRequest_Value{Value: v}
}

func TestPatchType_MapsToTheAPIServersTypes(t *testing.T) {
	for kind, want := range map[kubeconnectv1.PatchType]types.PatchType{
		jsonPatch: types.JSONPatchType, mergePatch: types.MergePatchType, strategic: types.StrategicMergePatchType, apply: types.ApplyYAMLPatchType,
	} {
		if got, err := patchType(kind); got != want || err != nil {
			t.Errorf("%s is %s, %v", kind, got, err)
		}
	}
	for _, kind := range []kubeconnectv1.PatchType{0, 99} {
		if _, err := patchType(kind); !apierrors.IsBadRequest(err) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestPatchBody_IsJSONOrYAMLForApply(t *testing.T) {
	for name, test := range map[string]struct {
		request *kubeconnectv1.PatchRequest
		want    string // empty: a bad request
	}{
		"a value":                    {&kubeconnectv1.PatchRequest{Type: mergePatch, Body: value(t, map[string]any{"a": 1})}, `{"a":1}`},
		"a list as a value":          {&kubeconnectv1.PatchRequest{Type: jsonPatch, Body: value(t, []any{map[string]any{"op": "test", "path": ""}})}, `[{"op":"test","path":""}]`},
		"large whole numbers":        {&kubeconnectv1.PatchRequest{Type: mergePatch, Body: value(t, map[string]any{"a": 1e15})}, `{"a":1000000000000000}`},
		"controls that YAML refuses": {&kubeconnectv1.PatchRequest{Type: mergePatch, Body: value(t, map[string]any{"a": "\x7f\u0085é"})}, `{"a":"\u007f\u0085é"}`},
		"null as a value":            {&kubeconnectv1.PatchRequest{Type: mergePatch, Body: value(t, map[string]any{"a": nil})}, `{"a":null}`},
		"data":                       {&kubeconnectv1.PatchRequest{Type: mergePatch, Body: data(`{"a": 9007199254740993}`)}, `{"a": 9007199254740993}`},
		"YAML for Apply":             {&kubeconnectv1.PatchRequest{Type: apply, Body: data("a: 1\n")}, "a: 1\n"},
		"YAML for others":            {&kubeconnectv1.PatchRequest{Type: mergePatch, Body: data("a: 1\n")}, ""},
		"JSON that is cut off":       {&kubeconnectv1.PatchRequest{Type: mergePatch, Body: data(`{"a":`)}, ""},
		"empty data":                 {&kubeconnectv1.PatchRequest{Type: mergePatch, Body: data("")}, ""},
		"nothing":                    {&kubeconnectv1.PatchRequest{Type: mergePatch}, ""},
		"a value that is not set":    {&kubeconnectv1.PatchRequest{Type: mergePatch, Body: &kubeconnectv1.PatchRequest_Value{}}, ""},
		"a value of no kind":         {&kubeconnectv1.PatchRequest{Type: mergePatch, Body: &kubeconnectv1.PatchRequest_Value{Value: &structpb.Value{}}}, ""},
		"a number that JSON has not": {&kubeconnectv1.PatchRequest{Type: mergePatch, Body: value(t, math.NaN())}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			body, err := patchBody(test.request)
			if test.want == "" && !apierrors.IsBadRequest(err) {
				t.Errorf("parsed %q, %v; want a bad request", body, err)
			}
			compact := strings.NewReplacer(": ", ":", ", ", ",").Replace // protojson varies its spaces
			if got := compact(string(body)); test.want != "" && (err != nil || got != compact(test.want)) {
				t.Errorf("parsed %q, %v; want %q", body, err, test.want)
			}
		})
	}
}

func TestPatchBody_SaysWhatIsWrong(t *testing.T) {
	for body, test := range map[string]struct {
		kind  kubeconnectv1.PatchType
		words string
	}{
		`[]`:                                   {mergePatch, "the patch is a list: PATCH_TYPE_MERGE takes an object"},
		`null`:                                 {mergePatch, "the patch is null"},
		`"x"`:                                  {kubeconnectv1.PatchType_PATCH_TYPE_STRATEGIC_MERGE, "the patch is a string: PATCH_TYPE_STRATEGIC_MERGE takes an object"},
		`{}`:                                   {jsonPatch, "the patch is an object: PATCH_TYPE_JSON takes a list of operations"},
		`[1]`:                                  {jsonPatch, "operation 0 of the patch is a number"},
		`[{"op":"test","path":"/a"},{}]`:       {jsonPatch, `operation 1 of the patch has op ""`},
		`[{"op":"set","path":"/a"}]`:           {jsonPatch, `has op "set": use add, remove,`},
		`[{"op":"add"}]`:                       {jsonPatch, `has path "": give one that begins with /`},
		`[{"op":"add","path":"spec"}]`:         {jsonPatch, `has path "spec"`},
		`[{"op":"move","path":"/a"}]`:          {jsonPatch, `has from ""`},
		`[{"op":"copy","path":"/a","from":1}]`: {jsonPatch, `has from ""`},
	} {
		t.Run(body, func(t *testing.T) {
			_, err := patchBody(&kubeconnectv1.PatchRequest{Type: test.kind, Body: data(body)})
			if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), test.words) {
				t.Errorf("parsed %v, want %q", err, test.words)
			}
		})
	}
	for _, body := range []string{`[]`, `[{"op":"add","path":"/a/-","value":1},{"op":"move","path":"/a","from":"/b"},{"op":"test","path":"","value":{}}]`} {
		if _, err := patchBody(&kubeconnectv1.PatchRequest{Type: jsonPatch, Body: data(body)}); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestPatchOptions_MatchTheAPIServers(t *testing.T) {
	yes, no := true, false
	for name, test := range map[string]struct {
		request *kubeconnectv1.PatchRequest
		want    *metav1.PatchOptions // nil: a bad request
	}{
		"none":                   {&kubeconnectv1.PatchRequest{Type: mergePatch}, &metav1.PatchOptions{FieldManager: "kubeconnect"}},
		"a field manager":        {&kubeconnectv1.PatchRequest{Type: mergePatch, FieldManager: "me"}, &metav1.PatchOptions{FieldManager: "me"}},
		"a dry run":              {&kubeconnectv1.PatchRequest{Type: mergePatch, DryRun: true}, &metav1.PatchOptions{FieldManager: "kubeconnect", DryRun: []string{"All"}}},
		"Apply":                  {&kubeconnectv1.PatchRequest{Type: apply, FieldManager: "me"}, &metav1.PatchOptions{FieldManager: "me", Force: &no}},
		"Apply with force":       {&kubeconnectv1.PatchRequest{Type: apply, FieldManager: "me", Force: true}, &metav1.PatchOptions{FieldManager: "me", Force: &yes}},
		"Apply by nobody":        {&kubeconnectv1.PatchRequest{Type: apply}, nil},
		"force without Apply":    {&kubeconnectv1.PatchRequest{Type: mergePatch, Force: true}, nil},
		"strict":                 {&kubeconnectv1.PatchRequest{Type: mergePatch, FieldValidation: kubeconnectv1.FieldValidation_FIELD_VALIDATION_STRICT}, &metav1.PatchOptions{FieldManager: "kubeconnect", FieldValidation: "Strict"}},
		"warning":                {&kubeconnectv1.PatchRequest{Type: mergePatch, FieldValidation: kubeconnectv1.FieldValidation_FIELD_VALIDATION_WARN}, &metav1.PatchOptions{FieldManager: "kubeconnect", FieldValidation: "Warn"}},
		"ignoring":               {&kubeconnectv1.PatchRequest{Type: mergePatch, FieldValidation: kubeconnectv1.FieldValidation_FIELD_VALIDATION_IGNORE}, &metav1.PatchOptions{FieldManager: "kubeconnect", FieldValidation: "Ignore"}},
		"a validation not known": {&kubeconnectv1.PatchRequest{Type: mergePatch, FieldValidation: 99}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			options, err := patchOptions(test.request)
			switch {
			case test.want == nil && !apierrors.IsBadRequest(err):
				t.Errorf("parsed %+v, %v; want a bad request", options, err)
			case test.want != nil && (err != nil || options.String() != test.want.String()):
				t.Errorf("parsed %s, %v; want %s", options.String(), err, test.want)
			}
		})
	}
}

// FuzzPatch adds preconditions to patches of each type: the result is JSON with them, or the patch
// is a bad request.
func FuzzPatch(f *testing.F) {
	for _, seed := range []string{`{}`, `[]`, `null`, `{"metadata":{"uid":"v"}}`, `{"metadata":{"uid":""}}`, `[{"op":"remove","path":"/a"}]`, "metadata: {name: a}\n", `{"metadata":null}`, `{"metadata":{"resourceVersion":"1"}}`} {
		for _, kind := range []kubeconnectv1.PatchType{jsonPatch, mergePatch, strategic, apply} {
			f.Add(int32(kind), []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, kind int32, text []byte) {
		p, err := parsePatch(&kubeconnectv1.PatchRequest{
			Type: kubeconnectv1.PatchType(kind), FieldManager: "me", Body: &kubeconnectv1.PatchRequest_Data{Data: text},
			Preconditions: &kubeconnectv1.Preconditions{Uid: "u", ResourceVersion: "7"},
		})
		if err != nil {
			if !apierrors.IsBadRequest(err) {
				t.Fatal(err)
			}
			return
		}
		if kind == int32(jsonPatch) {
			wantOperations(t, p.Body)
			return
		}
		var sent struct {
			Metadata map[string]any `json:"metadata"`
		}
		if err := utiljson.Unmarshal(p.Body, &sent); err != nil || sent.Metadata["uid"] != "u" || sent.Metadata["resourceVersion"] != "7" {
			t.Fatalf("%q becomes %q, %v", text, p.Body, err)
		}
	})
}

// wantOperations fails unless a JSON patch ends with operations that set the UID u and the version
// 7.
func wantOperations(t *testing.T, patch []byte) {
	t.Helper()
	var raw []json.RawMessage
	if err := json.Unmarshal(patch, &raw); err != nil || len(raw) < 2 {
		t.Fatalf("%q, %v", patch, err)
	}
	ends := make(map[string]string)
	for _, operation := range raw[len(raw)-2:] {
		var last struct{ Op, Path, Value string }
		if err := json.Unmarshal(operation, &last); err != nil {
			t.Fatal(err)
		}
		ends[last.Path] = last.Op + " " + last.Value
	}
	if ends["/metadata/uid"] != "add u" || ends["/metadata/resourceVersion"] != "add 7" {
		t.Fatalf("%q", patch)
	}
}
