package filter

import (
	"strings"
	"testing"
)

// web is a pod with the fields that the tests use.
const web = `{"apiVersion":"v1","kind":"Pod",
"metadata":{"name":"web-1","labels":{"app":"web","app.kubernetes.io/name":"shop"},"creationTimestamp":"2026-01-01T00:00:00Z"},
"spec":{"replicas":3,"ratio":0.5,"nodeName":"n1","containers":[
	{"name":"a","image":"x:latest","resources":{"limits":{"cpu":"500m"}}},{"name":"b","image":"y:1"}]},
"status":{"phase":"Running","podIP":"10.0.0.7"}}`

func compile(t *testing.T, text string) *Filter {
	t.Helper()
	f, err := Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFilter_IsTrueOrFalseOrHasNoValue also evaluates each expression for an object with only
// the fields that the expression's mask has.
func TestFilter_IsTrueOrFalseOrHasNoValue(t *testing.T) {
	const yes, no = "true", "false"
	for text, want := range map[string]string{
		`object.status.phase == 'Running' && object.spec.nodeName == 'n1'`:                   yes,
		`object.spec.containers.exists(c, c.image.endsWith(':latest'))`:                      yes,
		`object.spec.containers.all(c, c.image.endsWith(':latest'))`:                         no,
		`object.spec.replicas == 3 && type(object.spec.replicas) == int`:                     yes,
		`type(object.spec.ratio) == double && object.spec.ratio < 1`:                         yes,
		`object.spec.replicas > 2.5`:                                                         yes,
		`object.status.phase in ['Pending', 'Running']`:                                      yes,
		`'app' in object.metadata.labels`:                                                    yes,
		`object.metadata.labels['app.kubernetes.io/name'] == 'shop'`:                         yes,
		`object.metadata.labels.exists(k, v, k == 'app' && v == 'web')`:                      yes,
		`has(object.spec.nodeName)`:                                                          yes,
		`has(object.spec.priority)`:                                                          no,
		`has(object.spec) && !has(object.spec.priority)`:                                     yes,
		`object.?spec.?priority.orValue(7) == 7`:                                             yes,
		`object.?spec.?nodeName.optMap(n, n + '!').orValue('') == 'n1!'`:                     yes,
		`object.spec.containers[1].name == 'b'`:                                              yes,
		`object.spec.containers != object.status`:                                            yes,
		`object.spec.containers == object.spec.containers`:                                   yes,
		`object.spec['nodeName'] == 'n1'`:                                                    yes,
		`quantity(object.spec.containers[0].resources.limits.cpu).isLessThan(quantity('1'))`: yes,
		`cidr('10.0.0.0/8').containsIP(object.status.podIP)`:                                 yes,
		`isIP(object.status.podIP)`:                                                          yes,
		`timestamp(object.metadata.creationTimestamp) < timestamp('2027-01-01T00:00:00Z')`:   yes,
		`object.metadata.name.matches('^web-[0-9]+$')`:                                       yes,
		`object.metadata.name.find('[0-9]+') == '1'`:                                         yes,
		`object.metadata.name.split('-') == ['web', '1']`:                                    yes,
		`semver('1.2.3').isLessThan(semver('1.10.0'))`:                                       yes,
		`sets.contains(object.spec.containers.map(c, c.name), ['a'])`:                        yes,
		`object.spec.containers.map(c, c.name).sort() == ['a', 'b']`:                         yes,
		`object.spec.containers.map(c, c.name).isSorted()`:                                   yes,
		`!format.dns1123Label().validate(object.metadata.name).hasValue()`:                   yes,
		`url('https://example.com/x').getHost() == 'example.com'`:                            yes,
		`'%s on %s'.format([object.metadata.name, object.spec.nodeName]) == 'web-1 on n1'`:   yes,
		`(object.spec.containers + object.spec.containers).size() == 4`:                      yes,
		`[1].all(object, object == 1)`:                                                       yes,
		`has(object.kind) && object == object`:                                               yes,
		`object.spec.missing || object.spec.replicas == 3`:                                   yes,
		`true`:                                  yes,
		`object.spec.replicsa > 3`:              "no such key: replicsa",
		`object.spec.nodeName.x == 1`:           "no such key: x",
		`object.spec.nodeName > 3`:              "no such overload",
		`object.spec.replicas`:                  "it is not a condition, but of type int",
		`object.spec.replicas / 0 == 1`:         "division by zero",
		`object.spec.containers[7].name == 'x'`: "index out of bounds: 7",
		`object.metadata.name.matches(object.status.podIP + '(')`:                                              "missing closing )",
		`lists.range(200).all(a, lists.range(200).all(b, a + b >= 0))`:                                         "costs too much for one object",
		`quantity('1e999999999').isLessThan(quantity(object.spec.containers[0].resources.limits.cpu))`:         "costs too much for one object",
		`lists.range(200).all(i, object.metadata.name.matches('(a|b){' + string(i + 300) + '}') || true)`:      "costs too much for one object",
		`object.spec.containers.map(c, lists.range(1000)).flatten().distinct().size() == object.spec.replicas`: "costs too much for one object",
	} {
		t.Run(text, func(t *testing.T) {
			f := compile(t, text)
			wantAnswer(t, f, []byte(web), want)
			if f.Mask() == nil {
				return
			}
			read, err := f.Mask().AppendJSON(nil, []byte(web))
			if err != nil {
				t.Fatal(err)
			}
			wantAnswer(t, f, read, want)
		})
	}
}

func wantAnswer(t *testing.T, f *Filter, object []byte, want string) {
	t.Helper()
	matches, err := f.Matches(object, nil)
	switch {
	case err == nil && want != map[bool]string{true: "true", false: "false"}[matches]:
		t.Errorf("for %s the result is %v, want %s", object, matches, want)
	case err != nil && !strings.Contains(err.Error(), want):
		t.Errorf("for %s: %v, want %s", object, err, want)
	}
}

func TestFilter_MaskHasOnlyThePathsItReads(t *testing.T) {
	for text, want := range map[string]string{
		`object.status.phase == 'Running' && object.spec.nodeName == 'n1'`: "spec.nodeName,status.phase,...",
		`object.spec.containers.exists(c, c.image == 'x')`:                 "spec.containers[*].image,...",
		`object.a.all(x, x.b.exists(y, y.c == x.d && .object.e))`:          "a[*].b[*].c,a[*].d,e,...",
		`object.a.exists(x, true) && object.b.all(k, v, k + v.c == 'd')`:   "a,b[*].c,...",
		`object.a.map(x, x.b).exists(x, x.c) && object.d.exists(x, x)`:     "a[*].b,d[*],...",
		`object.a.filter(x, has(x.b))[0].c == 1`:                           "a[*],...",
		`object.exists(k, k == 'spec') && object.a.exists(x, x[x.b] == 1)`: "[*],a[*],...",
		`object.metadata.labels['a.b/c'] == object.spec.a.b`:               "metadata.labels['a.b/c'],spec.a.b,...",
		`object.?spec.?a.orValue(1) == 1 && object[?'kind'].hasValue()`:    "kind,spec.a,...",
		`has(object.a.b) && object.a.b.c == 1`:                             "a.b,...",
		`object.spec.containers[0].image == 'x'`:                           "spec.containers,...",
		`object.spec[object.kind] == 1`:                                    "kind,spec,...",
		`object.items.all(i, object.spec.names.exists(n, n == i))`:         "items[*],spec.names[*],...",
		`object == object`:                      "",
		`[object].size() == 1`:                  "",
		`[{'a': 1}].all(object, has(object.a))`: ",...",
	} {
		if got := compile(t, text).Mask().String(); got != want {
			t.Errorf("%s reads %q, want %q", text, got, want)
		}
	}
}

func TestCompile_ErrorsDescribeTheFault(t *testing.T) {
	for text, want := range map[string]string{
		`object.spec.`:             "1:13: Syntax error",
		"true &&\n objekt.x == 1":  "2:2: undeclared reference to 'objekt'",
		`object.a.nonsense()`:      "undeclared reference to 'nonsense'",
		`'a'`:                      "it must be a condition, true or false, but is of type string",
		` `:                        "it is empty",
		`object.a.matches('(')`:    "error parsing regexp: missing closing )",
		`duration('x') > object.a`: "invalid duration",
		"true" + strings.Repeat(`||object.a.matches('a{1,1000}')`, 20): "instructions together, and may have 10000",
		`'a' + 1 == 'b'`: "no matching overload",
		`authorizer.path('/').check('get').allowed()`: "undeclared reference to 'authorizer'",
	} {
		if _, err := Compile(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestBudget_IsSpentByManyObjects(t *testing.T) {
	f := compile(t, "!object.metadata.name.matches('"+strings.Repeat("(x+x+)+", 500)+"y')")
	var budget Budget
	for count := 0; budget.Left() == nil; count++ {
		if matches, err := f.Matches([]byte(web), &budget); !matches || err != nil {
			t.Fatal(matches, err)
		}
		if count > maxListCost {
			t.Fatal("the budget is never spent")
		}
	}
}
