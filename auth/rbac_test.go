package auth

import (
	"fmt"
	"slices"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
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

// announcedAt runs changes for a time, notes changes at some times, and returns when they are announced.
func announcedAt(t *testing.T, noted ...time.Duration) (announced []time.Duration) {
	faketime.Test(t, func(t *testing.T) {
		changes := newChangeNotifier()
		running(t, changes.run)
		began := time.Now()
		for _, at := range noted {
			time.AfterFunc(at, func() { changes.note() })
		}
		end := time.After(time.Minute)
		for {
			select {
			case <-changes.next():
				announced = append(announced, time.Since(began))
			case <-end:
				return
			}
		}
	})
	return announced
}

func TestChangeNotifier_AnnouncesAtOnceAndTwiceLater(t *testing.T) {
	const ms = time.Millisecond
	for name, test := range map[string]struct{ noted, announced []time.Duration }{
		"none":                 {nil, nil},
		"one":                  {[]time.Duration{1000 * ms}, []time.Duration{1000 * ms, 2000 * ms, 6000 * ms}},
		"two at once":          {[]time.Duration{1000 * ms, 1001 * ms}, []time.Duration{1000 * ms, 1500 * ms, 2001 * ms, 6001 * ms}},
		"one while it settles": {[]time.Duration{1000 * ms, 3000 * ms}, []time.Duration{1000 * ms, 2000 * ms, 3000 * ms, 4000 * ms, 8000 * ms}},
		"two far apart":        {[]time.Duration{100 * ms, 20000 * ms}, []time.Duration{100 * ms, 1100 * ms, 5100 * ms, 20000 * ms, 21000 * ms, 25000 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			if announced := announcedAt(t, test.noted...); !slices.Equal(announced, test.announced) {
				t.Errorf("announced at %v, want %v", announced, test.announced)
			}
		})
	}
}

func TestChangeNotifier_AnnouncesAtMostTwiceASecond(t *testing.T) {
	var noted []time.Duration
	for i := range 1000 {
		noted = append(noted, time.Duration(1+i)*10*time.Millisecond) // ten seconds
	}
	if announced := announcedAt(t, noted...); len(announced) > 24 || announced[0] != noted[0] {
		t.Errorf("announced %d times, at %v", len(announced), announced)
	}
}

func TestChangeNotifier_ChangeAffectsItsSubjectsOnly(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		changes := newChangeNotifier()
		user, group := subject{name: "x"}, subject{group: true, name: "x"}
		time.Sleep(time.Second)
		changes.note(group)
		if !changes.lastOf([]subject{user}).IsZero() || !changes.lastOf([]subject{user, group}).Equal(time.Now()) {
			t.Error("a group matches a user of the same name")
		}
		time.Sleep(time.Second)
		for i := range maxSubjects {
			changes.note(subject{name: fmt.Sprint(i)})
		}
		if !changes.lastOf([]subject{user}).Equal(time.Now()) || len(changes.bySubject) > maxSubjects {
			t.Error("there is no bound, or a change above it is missed")
		}
	})
}
