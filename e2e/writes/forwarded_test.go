package writes_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// TestWrites_ReturnWhatTheAPIServerReturns makes each write as a dry run, through the service and by
// the same request to the API server itself. Objects, warnings and errors must be equal.
func TestWrites_ReturnWhatTheAPIServerReturns(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	namespace, client := kit.NewNamespace(ctx, t, kit.Cluster(t)), kit.NewClient(t, kit.Cluster(t))
	direct := newDirectClient(t)
	targets := createWriteTargets(ctx, t, namespace)
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		target := targets[name]
		writes := slices.Concat(creations(target), updates(target), patches(target), deletions(target), scales(target))
		for _, write := range slices.SortedFunc(slices.Values(writes), byDescription) {
			t.Run(name+"/"+write.description, func(t *testing.T) {
				write.namespace = namespace
				wantSameOutcome(t, write.through(ctx, client), direct.make(ctx, t, write))
			})
		}
	}
}

// writeTarget is a resource with an object "one", and the content that writes change.
type writeTarget struct {
	resource         string // in kubectl's syntax
	path             string // of the API server, up to the namespace
	plural           string
	apiVersion, kind string
	content          string // the member that writes change; empty: only subresources are written
	custom           bool
	scales           bool   // has the subresources scale and status
	version          string // the resource version of "one"
}

// head returns the type of the object as members of JSON, with a comma behind each.
func (w writeTarget) head() string {
	return fmt.Sprintf(`"apiVersion":%q,"kind":%q,`, w.apiVersion, w.kind)
}

// createWriteTargets returns a built-in resource, and a custom one in two versions and with all
// subresources that a custom resource can have.
func createWriteTargets(ctx context.Context, t *testing.T, namespace string) map[string]writeTarget {
	t.Helper()
	gadgets := kit.NewCustomResource(ctx, t, kit.Cluster(t), namespace)
	gadgets.DefineScalable("v1", "v2")
	gadget := gadgets.Create("v1", namespace, "one", map[string]any{"color": "red", "replicas": int64(1)})
	configMap := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace).Create("one", nil)
	kit.CreateDeployment(ctx, t, namespace, "one", 0)
	custom := func(version string) writeTarget {
		return writeTarget{
			resource: "gadgets." + version + "." + gadgets.Group, path: "/apis/" + gadgets.Group + "/" + version, plural: "gadgets",
			apiVersion: gadgets.Group + "/" + version, kind: "Gadget", content: "spec",
			custom: true, scales: true, version: gadget.GetResourceVersion(),
		}
	}
	return map[string]writeTarget{
		"built in": {
			resource: "configmaps", path: "/api/v1", plural: "configmaps",
			apiVersion: "v1", kind: "ConfigMap", content: "data", version: configMap.ResourceVersion,
		},
		"built in, with scale": {
			resource: "deployments.apps", path: "/apis/apps/v1", plural: "deployments", apiVersion: "apps/v1", kind: "Deployment", scales: true,
		},
		"custom":                        custom("v1"),
		"custom, in the stored version": custom("v2"),
	}
}

// forwardedWrite is a write that the service forwards.
type forwardedWrite struct {
	description string
	verb        string
	target      writeTarget
	namespace   string
	name        string // of the object, if the request names it
	subresource string
	body        string
	// expanded is the body as the service sends it to the API server; empty: unchanged.
	expanded   string
	patchType  kubeconnectv1.PatchType
	validation kubeconnectv1.FieldValidation
	uid        string // a precondition of a deletion
	labels     string // the selector of a deletion
}

func byDescription(a, b forwardedWrite) int { return strings.Compare(a.description, b.description) }

// creations returns creations with each level of validation, with and without the object's type, in
// JSON and in YAML.
func creations(target writeTarget) (writes []forwardedWrite) {
	for description, members := range manifests(target, "new", "") {
		writes = append(writes, inEachForm(forwardedWrite{description: "create, " + description, verb: "create", target: target}, members)...)
	}
	if target.content == "" {
		return nil
	}
	for description, body := range map[string]string{
		"of another kind":      `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"new"}}`,
		"of another version":   fmt.Sprintf(`{"apiVersion":"example.com/v9","kind":%q,"metadata":{"name":"new"}}`, target.kind),
		"existing":             `{` + target.head() + `"metadata":{"name":"one"}}`,
		"in another namespace": `{` + target.head() + `"metadata":{"name":"new","namespace":"default"}}`,
	} {
		writes = append(writes, forwardedWrite{description: "create, " + description, verb: "create", target: target, body: body})
	}
	return writes
}

func updates(target writeTarget) (writes []forwardedWrite) {
	for description, members := range manifests(target, "one", target.version) {
		writes = append(writes, inEachForm(forwardedWrite{description: "update, " + description, verb: "update", target: target, name: "one"}, members)...)
	}
	if !target.custom {
		return writes
	}
	const nameless = `"metadata":{"resourceVersion":"1"}}`
	return append(writes, forwardedWrite{
		description: "update, nameless", verb: "update", target: target, name: "one",
		body: "{" + target.head() + nameless, expanded: "{" + target.head() + strings.Replace(nameless, "{", `{"name":"one",`, 1),
	})
}

// manifests returns the members of objects in JSON, without their type.
func manifests(target writeTarget, name, version string) map[string][]string {
	if target.content == "" {
		return nil
	}
	metadata := func(more string) string {
		return fmt.Sprintf(`"metadata":{"name":%q,"resourceVersion":%q%s}`, name, version, more)
	}
	content := func(members string) string { return fmt.Sprintf(`%q:{%s}`, target.content, members) }
	return map[string][]string{
		"an object":             {metadata(""), content(`"color":"blue"`)},
		"an unknown field":      {metadata(""), `"unknown":{"color":"blue"}`},
		"a duplicate field":     {metadata(""), content(`"color":"red","color":"blue"`)},
		"unknown and duplicate": {metadata(""), `"unknown":{}`, content(`"color":"red","color":"blue"`)},
		"duplicate metadata":    {metadata(""), metadata("")},
		"unknown metadata":      {metadata(`,"unknown":"x"`)},
		"numbers":               {metadata(""), content(`"one":1.0,"large":9007199254740993,"small":1e-7,"huge":1e20`)},
		"a number too large":    {metadata(""), content(`"large":1e999`)},
		"a wrong type":          {metadata(""), fmt.Sprintf(`%q:"text"`, target.content)},
		"wrong labels":          {metadata(`,"labels":"none"`)},
		"another name":          {`"metadata":{"name":"One_"}`},
		"an outdated version":   {fmt.Sprintf(`"metadata":{"name":%q,"resourceVersion":"1"}`, name)},
		"escaped text":          {metadata(""), content(`"text":"gr\u00fc\u00dfe <&> \" \\ ü"`)},
	}
}

var validations = map[string]kubeconnectv1.FieldValidation{
	"by default": kubeconnectv1.FieldValidation_FIELD_VALIDATION_UNSPECIFIED,
	"ignored":    kubeconnectv1.FieldValidation_FIELD_VALIDATION_IGNORE,
	"warned":     kubeconnectv1.FieldValidation_FIELD_VALIDATION_WARN,
	"strict":     kubeconnectv1.FieldValidation_FIELD_VALIDATION_STRICT,
}

// inEachForm returns a write of an object with and without its type, as JSON and as YAML, with each
// level of validation.
func inEachForm(write forwardedWrite, members []string) (writes []forwardedWrite) {
	head := write.target.head()
	lines := ""
	for _, member := range members { // with a space, each is also a line of YAML
		lines += strings.Replace(member, `":`, `": `, 1) + "\n"
	}
	yamlHead := fmt.Sprintf("apiVersion: %q\nkind: %q\n", write.target.apiVersion, write.target.kind)
	for level, validation := range validations {
		for form, bodies := range map[string][2]string{
			"JSON":              {"{" + head + strings.Join(members, ",") + "}"},
			"JSON without kind": {"{" + strings.Join(members, ",") + "}", "{" + head + strings.Join(members, ",") + "}"},
			"YAML":              {lines + yamlHead},
			"YAML without kind": {"# a comment\n" + lines, "# a comment\n" + lines + yamlHead},
		} {
			one := write
			one.description = strings.Join([]string{write.description, form, level}, ", ")
			one.body, one.validation = bodies[0], validation
			if write.target.custom { // the API server itself completes built-in kinds
				one.expanded = bodies[1]
			}
			writes = append(writes, one)
		}
	}
	return writes
}

func patches(target writeTarget) (writes []forwardedWrite) {
	if target.content == "" {
		return nil
	}
	changed := func(value string) string { return fmt.Sprintf(`{%q:{"color":%s}}`, target.content, value) }
	for description, patch := range map[string]struct {
		kind kubeconnectv1.PatchType
		body string
	}{
		"merge":                     {kit.MergePatch, changed(`"blue"`)},
		"merge, unknown":            {kit.MergePatch, `{"unknown":1}`},
		"merge, duplicate":          {kit.MergePatch, fmt.Sprintf(`{%q:{"color":"red","color":"blue"}}`, target.content)},
		"merge, outdated":           {kit.MergePatch, `{"metadata":{"resourceVersion":"1"}}`},
		"JSON":                      {jsonPatch, fmt.Sprintf(`[{"op":"add","path":"/%s/color","value":"blue"}]`, target.content)},
		"JSON, unknown":             {jsonPatch, `[{"op":"add","path":"/unknown","value":1}]`},
		"JSON, duplicate":           {jsonPatch, `[{"op":"add","op":"add","path":"/metadata/labels","value":{}}]`},
		"apply in JSON":             {applyPatch, "{" + target.head() + `"metadata":{"name":"one"},` + changed(`"blue"`)[1:]},
		"apply in YAML":             {applyPatch, fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: one, labels: {a: b}}\n", target.apiVersion, target.kind)},
		"apply in YAML, duplicate":  {applyPatch, fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: one, labels: {a: b, a: c}}\n", target.apiVersion, target.kind)},
		"apply with another name":   {applyPatch, "{" + target.head() + `"metadata":{"name":"two"}}`},
		"strategic merge":           {kubeconnectv1.PatchType_PATCH_TYPE_STRATEGIC_MERGE, `{"metadata":{"labels":{"a":"b"}}}`},
		"strategic merge, directed": {kubeconnectv1.PatchType_PATCH_TYPE_STRATEGIC_MERGE, `{"metadata":{"labels":{"a":"b","$patch":"replace"}}}`},
	} {
		if target.custom && strings.HasPrefix(description, "strategic") {
			continue // the service adds advice to the error: see TestPatch_WrongTypesAreTheCallersError
		}
		for level, validation := range validations {
			if level == "strict" && (strings.HasSuffix(description, "unknown") || strings.HasSuffix(description, "duplicate")) {
				continue // the service adds the object's name to the error
			}
			writes = append(writes, forwardedWrite{
				description: "patch, " + description + ", " + level, verb: "patch", target: target, name: "one",
				patchType: patch.kind, body: patch.body, validation: validation,
			})
		}
	}
	return append(writes, forwardedWrite{description: "patch, missing", verb: "patch", target: target, name: "missing", patchType: kit.MergePatch, body: "{}"})
}

func deletions(target writeTarget) []forwardedWrite {
	return []forwardedWrite{
		{description: "delete", verb: "delete", target: target, name: "one"},
		{description: "delete, missing", verb: "delete", target: target, name: "missing"},
		{description: "delete, of another UID", verb: "delete", target: target, name: "one", uid: "00000000-0000-0000-0000-000000000000"},
		{description: "deletecollection", verb: "deletecollection", target: target},
		{description: "deletecollection, of none", verb: "deletecollection", target: target, labels: "none=here"},
		{description: "deletecollection, by an invalid selector", verb: "deletecollection", target: target, labels: "a in"},
	}
}

// scales returns writes to the subresources scale and status.
func scales(target writeTarget) (writes []forwardedWrite) {
	if !target.scales {
		return nil
	}
	const scale = `"metadata":{"name":"one"},"spec":{"replicas":3}}`
	const typed = `"apiVersion":"autoscaling/v1","kind":"Scale",`
	for description, write := range map[string]forwardedWrite{
		"scale":                 {verb: "update", subresource: "scale", body: "{" + typed + scale},
		"scale without kind":    {verb: "update", subresource: "scale", body: "{" + scale},
		"scale of another name": {verb: "update", subresource: "scale", body: "{" + typed + strings.Replace(scale, "one", "two", 1)},
		"scale, unknown":        {verb: "update", subresource: "scale", body: "{" + typed + `"unknown":1,` + scale},
		"scale, duplicate":      {verb: "update", subresource: "scale", body: "{" + typed + strings.Replace(scale, "3", `3,"replicas":4`, 1)},
		"scale, a wrong type":   {verb: "update", subresource: "scale", body: "{" + typed + strings.Replace(scale, "3", `"3"`, 1)},
		"scale by merge":        {verb: "patch", subresource: "scale", patchType: kit.MergePatch, body: `{"spec":{"replicas":3}}`},
		"scale by JSON patch":   {verb: "patch", subresource: "scale", patchType: jsonPatch, body: `[{"op":"replace","path":"/spec/replicas","value":3}]`},
		"status":                {verb: "update", subresource: "status", body: "{" + target.head() + `"metadata":{"name":"one"},"status":{"replicas":0}}`},
		"status, unknown":       {verb: "update", subresource: "status", body: "{" + target.head() + `"metadata":{"name":"one"},"unknown":{}}`},
		"status by merge":       {verb: "patch", subresource: "status", patchType: kit.MergePatch, body: `{"status":{"replicas":0}}`},
		"a missing subresource": {verb: "update", subresource: "missing", body: "{" + target.head() + `"metadata":{"name":"one"}}`},
		"creating at one":       {verb: "create", subresource: "status", body: "{" + target.head() + `"metadata":{"name":"one"}}`},
	} {
		write.description, write.target, write.name = description, target, "one"
		writes = append(writes, write)
	}
	return writes
}

// outcome is the response to a write.
type outcome struct {
	object   string // JSON, without the values that differ between two equal writes
	deleted  int
	warnings []string
	status   *kubeconnectv1.Status // of an error
}

func wantSameOutcome(t *testing.T, got, want outcome) {
	t.Helper()
	if !proto.Equal(got.status, want.status) {
		t.Errorf("error\n  %s\nwant\n  %s", prototext.Format(got.status), prototext.Format(want.status))
	}
	if want.status == nil && !slices.Equal(got.warnings, want.warnings) { // an RPC's error has no warnings
		t.Errorf("warnings\n  %q\nwant\n  %q", got.warnings, want.warnings)
	}
	if got.object != want.object || got.deleted != want.deleted {
		t.Errorf("object\n  %s (%d deleted)\nwant\n  %s (%d)", got.object, got.deleted, want.object, want.deleted)
	}
}
