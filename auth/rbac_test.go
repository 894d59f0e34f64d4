package auth

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

var listPods = Attributes{Verb: "list", Version: "v1", Resource: "pods"}

func TestRule_AllowsAsRBACDoes(t *testing.T) {
	pods := Attributes{Verb: "get", Resource: "pods", Name: "a"}
	logs := Attributes{Verb: "get", Resource: "pods", Subresource: "log"}
	anything := []string{"*"}
	core := []string{""}
	get := []string{"get"}
	for name, test := range map[string]struct {
		rule  rule
		asked Attributes
		want  bool
	}{
		"that very right":         {rule{get, core, []string{"pods"}, nil}, pods, true},
		"everything":              {rule{anything, anything, anything, nil}, pods, true},
		"another verb":            {rule{[]string{"list"}, core, []string{"pods"}, nil}, pods, false},
		"another group":           {rule{get, []string{"apps"}, []string{"pods"}, nil}, pods, false},
		"no group":                {rule{get, nil, []string{"pods"}, nil}, pods, false},
		"another resource":        {rule{get, core, []string{"secrets"}, nil}, pods, false},
		"a subresource, not all":  {rule{get, core, []string{"pods/log"}, nil}, pods, false},
		"that name":               {rule{get, core, []string{"pods"}, []string{"a"}}, pods, true},
		"another name":            {rule{get, core, []string{"pods"}, []string{"b"}}, pods, false},
		"a name, for all":         {rule{get, core, []string{"pods/log"}, []string{"b"}}, logs, false},
		"that subresource":        {rule{get, core, []string{"pods/log"}, nil}, logs, true},
		"it of all resources":     {rule{get, core, []string{"*/log"}, nil}, logs, true},
		"all, of which it is one": {rule{get, core, anything, nil}, logs, true},
		"all of its resource":     {rule{get, core, []string{"pods/*"}, nil}, logs, false},
		"the resource alone":      {rule{get, core, []string{"pods"}, nil}, logs, false},
	} {
		t.Run(name, func(t *testing.T) {
			if test.rule.allows(test.asked) != test.want {
				t.Errorf("got %v", !test.want)
			}
		})
	}
}

func TestSubjectOf_ReadsSubjectsAsRBACDoes(t *testing.T) {
	for name, test := range map[string]struct {
		namespace string
		subject   rbacv1.Subject
		want      subject
		ok        bool
	}{
		"a user":                                {"n", rbacv1.Subject{Kind: "User", Name: "a"}, subject{false, "a"}, true},
		"a group":                               {"n", rbacv1.Subject{Kind: "Group", Name: "a"}, subject{true, "a"}, true},
		"a service account":                     {"n", rbacv1.Subject{Kind: "ServiceAccount", Namespace: "m", Name: "a"}, subject{false, "system:serviceaccount:m:a"}, true},
		"one of the binding's namespace":        {"n", rbacv1.Subject{Kind: "ServiceAccount", Name: "a"}, subject{false, "system:serviceaccount:n:a"}, true},
		"one without a namespace, cluster-wide": {"", rbacv1.Subject{Kind: "ServiceAccount", Name: "a"}, subject{}, false},
		"what RBAC does not know":               {"n", rbacv1.Subject{Kind: "Robot", Name: "a"}, subject{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := subjectOf(test.namespace, test.subject)
			if ok != test.ok || ok && got != test.want {
				t.Errorf("got %+v, %v", got, ok)
			}
		})
	}
}

// TestRBAC_ReportsOnlyEffectiveChanges changes RBAC step by step: each step names the affected
// subjects.
func TestRBAC_ReportsOnlyEffectiveChanges(t *testing.T) {
	var concerned []subject
	rbac := newRBAC(func(subjects ...subject) {
		if concerned = append(concerned, subjects...); len(subjects) == 0 {
			t.Error("a change that affects no subject is announced")
		}
	})
	alice, bob, crew := subject{name: "alice"}, subject{name: "bob"}, subject{group: true, name: "crew"}
	role, binding1 := named{"n", "r"}, named{"n", "b"}
	list := []rule{{[]string{"list"}, []string{""}, []string{"pods"}, nil}}
	get := []rule{{[]string{"get"}, []string{""}, []string{"pods"}, nil}}
	for _, step := range []struct {
		name       string
		do         func()
		concerns   []subject
		candidates []string // of alice, to list pods
	}{
		{"a role that is not bound", func() { rbac.setRole(role, list) }, nil, nil},
		{"a binding", func() { rbac.setBinding(binding1, binding{role, []subject{alice}}) }, []subject{alice}, []string{"n"}},
		{"the same again", func() { rbac.setBinding(binding1, binding{role, []subject{alice}}) }, nil, []string{"n"}},
		{"another verb", func() { rbac.setRole(role, get) }, []subject{alice}, nil},
		{"the same again", func() { rbac.setRole(role, slices.Clone(get)) }, nil, nil},
		{"both verbs", func() { rbac.setRole(role, slices.Concat(get, list)) }, []subject{alice}, []string{"n"}},
		{"no rule", func() { rbac.setRole(role, []rule{}) }, []subject{alice}, nil},
		{"no role, which may yet come", func() { rbac.setRole(role, nil) }, []subject{alice}, []string{"n"}},
		{"somebody else", func() { rbac.setBinding(binding1, binding{role, []subject{bob, crew}}) }, []subject{alice, bob, crew}, []string{"n"}},
		{"no binding", func() { rbac.setBinding(binding1, binding{}) }, []subject{bob, crew}, nil},
		{"none again", func() { rbac.setBinding(binding1, binding{}) }, nil, nil},
		{"one of the cluster", func() { rbac.setBinding(named{"", "b"}, binding{named{"", "r"}, []subject{alice}}) }, []subject{alice}, nil},
		{"a binding without subjects", func() { rbac.setBinding(binding1, binding{role, nil}) }, nil, nil},
	} {
		concerned = nil
		step.do()
		if !slices.Equal(concerned, step.concerns) {
			t.Errorf("%s affects %v, want %v", step.name, concerned, step.concerns)
		}
		if got := rbac.namespaces([]subject{alice, crew}, listPods); !slices.Equal(got, step.candidates) {
			t.Errorf("%s: candidates %v, want %v", step.name, got, step.candidates)
		}
	}
	rbac.setBinding(named{"", "b"}, binding{})
	if len(rbac.bindings)+len(rbac.byRole)+len(rbac.bySubject)+len(rbac.roles) != 0 {
		t.Errorf("entries are left: %+v", rbac)
	}
}
