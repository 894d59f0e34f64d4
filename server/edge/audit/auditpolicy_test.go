package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/kubeconnect/kubeconnect/auth"
)

const policyHead = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"

// writesOf reports whether a policy with some rules writes the end of a read.
func writesOf(t *testing.T, rules string, of about) bool {
	t.Helper()
	policy, err := parsePolicy([]byte(policyHead + "rules:\n" + rules))
	if err != nil {
		t.Fatal(err)
	}
	return policy.writes(of, auditv1.StageResponseComplete)
}

func TestPolicy_RulesMatch(t *testing.T) {
	jane := auth.Identity{Username: "jane", Groups: []string{"team"}}
	read := about{jane, auth.Attributes{Verb: "get", Version: "v1", Resource: "secrets", Namespace: "a", Name: "token"}}
	log := about{jane, auth.Attributes{Verb: "get", Version: "v1", Resource: "pods", Subresource: "log", Namespace: "a", Name: "p"}}
	scale := about{jane, auth.Attributes{Verb: "get", Group: "apps", Version: "v1", Resource: "deployments", Subresource: "scale", Namespace: "a", Name: "d"}}
	everywhere := about{jane, auth.Attributes{Verb: "list", Version: "v1", Resource: "secrets"}}
	health := about{auth.Identity{}, auth.Attributes{Verb: "post", Path: "/grpc.health.v1.Health/Check"}}
	for name, test := range map[string]struct {
		rule string // one that writes
		of   about
		want bool
	}{
		"no conditions":                          {rule: ``, of: read, want: true},
		"the user":                               {rule: `users: [joe, jane]`, of: read, want: true},
		"another user":                           {rule: `users: [joe]`, of: read},
		"a user and nobody":                      {rule: `users: [jane]`, of: health},
		"a group of the user":                    {rule: `userGroups: [team]`, of: read, want: true},
		"another group":                          {rule: `userGroups: [admins]`, of: read},
		"the verb":                               {rule: `verbs: [get, list]`, of: read, want: true},
		"another verb":                           {rule: `verbs: [watch]`, of: read},
		"the namespace":                          {rule: `namespaces: [a]`, of: read, want: true},
		"another namespace":                      {rule: `namespaces: [b]`, of: read},
		"a namespace and all namespaces":         {rule: `namespaces: [a]`, of: everywhere},
		"no namespace and all namespaces":        {rule: `namespaces: [""]`, of: everywhere, want: true},
		"the group of the resource":              {rule: `resources: [{group: ""}]`, of: read, want: true},
		"another group of resources":             {rule: `resources: [{group: apps}]`, of: read},
		"any group":                              {rule: `resources: [{group: "*", resources: [secrets]}]`, of: read, want: true},
		"the resource":                           {rule: `resources: [{resources: [pods, secrets]}]`, of: read, want: true},
		"one of two entries":                     {rule: `resources: [{group: apps}, {resources: [secrets]}]`, of: read, want: true},
		"another resource":                       {rule: `resources: [{resources: [pods]}]`, of: read},
		"a resource and its subresource":         {rule: `resources: [{resources: [pods]}]`, of: log},
		"a subresource":                          {rule: `resources: [{resources: [pods/log]}]`, of: log, want: true},
		"another subresource":                    {rule: `resources: [{resources: [pods/status]}]`, of: log},
		"all subresources":                       {rule: `resources: [{resources: [pods/*]}]`, of: log, want: true},
		"all subresources of another":            {rule: `resources: [{resources: [nodes/*]}]`, of: log},
		"a subresource of all":                   {rule: `resources: [{group: apps, resources: ["*/scale"]}]`, of: scale, want: true},
		"another subresource of all":             {rule: `resources: [{group: apps, resources: ["*/status"]}]`, of: scale},
		"all resources and subresources":         {rule: `resources: [{group: apps, resources: ["*"]}]`, of: scale, want: true},
		"the name":                               {rule: `resources: [{resources: [secrets], resourceNames: [token]}]`, of: read, want: true},
		"another name":                           {rule: `resources: [{resources: [secrets], resourceNames: [other]}]`, of: read},
		"a resource and a procedure":             {rule: `resources: [{group: "*"}]`, of: health},
		"a procedure and a resource":             {rule: `nonResourceURLs: ["*"]`, of: read},
		"the procedure":                          {rule: `nonResourceURLs: [/grpc.health.v1.Health/Check]`, of: health, want: true},
		"the procedures of a service":            {rule: `nonResourceURLs: [/grpc.health.v1.Health/*]`, of: health, want: true},
		"another procedure":                      {rule: `nonResourceURLs: [/grpc.health.v1.Health/Watch]`, of: health},
		"all conditions":                         {rule: `users: [jane], userGroups: [team], verbs: [get], namespaces: [a], resources: [{resources: [secrets]}]`, of: read, want: true},
		"all conditions but one":                 {rule: `users: [jane], userGroups: [team], verbs: [list], namespaces: [a], resources: [{resources: [secrets]}]`, of: read},
		"a stage that is omitted":                {rule: `omitStages: [ResponseComplete]`, of: read},
		"another stage that is omitted":          {rule: `omitStages: [ResponseStarted]`, of: read, want: true},
		"a stage that the policy does not write": {rule: `omitStages: [RequestReceived, Panic]`, of: read, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := writesOf(t, "- {level: Metadata, "+test.rule+"}\n", test.of); got != test.want {
				t.Errorf("the event is written: %v, want %v", got, test.want)
			}
		})
	}
}

func TestPolicy_TheFirstRuleThatMatchesDecides(t *testing.T) {
	read := about{Attributes: auth.Attributes{Verb: "get", Resource: "secrets", Namespace: "a"}}
	for rules, want := range map[string]bool{
		"- {level: None, verbs: [get]}\n- {level: Metadata}":  false,
		"- {level: None, verbs: [list]}\n- {level: Metadata}": true,
		"- {level: Metadata, verbs: [list]}":                  false, // no rule matches
	} {
		if got := writesOf(t, rules, read); got != want {
			t.Errorf("%s: the event is written: %v, want %v", rules, got, want)
		}
	}
	policy, err := parsePolicy([]byte(policyHead + "omitStages: [ResponseStarted]\nrules:\n- level: Metadata\n  omitManagedFields: true\n"))
	if err != nil {
		t.Fatal(err)
	}
	if policy.writes(read, auditv1.StageResponseStarted) || !policy.writes(read, auditv1.StageResponseComplete) {
		t.Error("the stage that the policy omits is written, or the other is not")
	}
}

func TestPolicy_ErrorsNameTheFileAndTheField(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"an unknown field":           {policyHead + "rules:\n- {level: Metadata, user: [jane]}\n", `unknown field "rules[0].user"`},
		"a field that occurs twice":  {policyHead + "kind: Policy\nrules: [{level: None}]\n", `"kind" already set`},
		"a value of another type":    {policyHead + "rules: [{level: Metadata, verbs: get}]\n", "rules.verbs of type []string"},
		"no YAML":                    {"rules: [", "yaml"},
		"another version":            {"apiVersion: audit.k8s.io/v1beta1\nkind: Policy\nrules: [{level: None}]\n", `apiVersion: Unsupported value: "audit.k8s.io/v1beta1"`},
		"another kind":               {"apiVersion: audit.k8s.io/v1\nkind: Event\nrules: [{level: None}]\n", `kind: Unsupported value: "Event"`},
		"no rules":                   {policyHead, "rules: Required value"},
		"no level":                   {policyHead + "rules: [{verbs: [get]}]\n", "rules[0].level: Required value"},
		"another level":              {policyHead + "rules: [{level: None}, {level: All}]\n", `rules[1].level: Unsupported value: "All"`},
		"contents of requests":       {policyHead + "rules: [{level: Request}]\n", `rules[0].level: Invalid value: "Request": the contents of requests and responses are never written`},
		"contents of responses":      {policyHead + "rules: [{level: None}, {level: RequestResponse}]\n", `rules[1].level: Invalid value: "RequestResponse": the contents`},
		"another stage":              {policyHead + "rules: [{level: None, omitStages: [Never]}]\n", `rules[0].omitStages[0]: Invalid value: "Never"`},
		"resources and procedures":   {policyHead + "rules: [{level: None, namespaces: [a], nonResourceURLs: [/b]}]\n", "rules[0].nonResourceURLs: Invalid value"},
		"a procedure without a path": {policyHead + "rules: [{level: None, nonResourceURLs: [b]}]\n", `rules[0].nonResourceURLs[0]: Invalid value: "b"`},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "policy.yaml")
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := ReadPolicy(file)
			if err == nil || !strings.HasPrefix(err.Error(), file+": ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	if _, err := ReadPolicy(filepath.Join(t.TempDir(), "missing")); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a missing file: %v", err)
	}
}
