package permissions_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/kubelet"
)

// Results of a call of the matrix, other than the objects that it shows.
const (
	denied  = "permission_denied"
	unknown = "unauthenticated"
	absent  = "not_found"
)

// rightsMatrix maps each call to its results by caller: a caller without permissions, a caller with
// permissions in the namespace A, a caller with permissions for the names one and none in A, and an
// administrator. The objects are A/one, A/two and B/one, pods of these names whose logs contain
// them, and a Secret, a Deployment and a PodTemplate in A; PodTemplates are not cached.
// Unauthenticated callers are rejected with every call.
var rightsMatrix = map[string][4]string{
	"WhoAmI":                       {"nobody", "of-namespace", "of-name", "admin"},
	"CheckAccess: get A/one":       {"no", "yes", "yes", "yes"},
	"CheckAccess: get A/two":       {"no", "yes", "no", "yes"},
	"CheckAccess: list everywhere": {"no", "no", "no", "yes"},
	"Get A/one":                    {denied, "A/one", "A/one", "A/one"},
	"Get A/two":                    {denied, "A/two", denied, "A/two"},
	"Get A/none":                   {denied, absent, absent, absent},
	"Get B/one":                    {denied, denied, denied, "B/one"},
	"Get B/none":                   {denied, denied, denied, absent},
	"Get a Secret in A":            {denied, denied, denied, "A/secret"},
	"Get the latest A/one":         {denied, "A/one", "A/one", "A/one"},
	"Get the latest A/two":         {denied, "A/two", denied, "A/two"},
	"Get the latest A/none":        {denied, absent, absent, absent},
	"Get the latest B/one":         {denied, denied, denied, "B/one"},
	"Get an uncached one of A":     {denied, denied, denied, "A/template"},
	"Get the scale of A/web":       {denied, denied, denied, "A/web"},
	"List A":                       {denied, "A/one A/two", denied, "A/one A/two"},
	"List B":                       {denied, denied, denied, "B/one"},
	"List everywhere":              {denied, "A/one A/two", denied, "A/one A/two B/one"},
	"List one in A":                {denied, "A/one", "A/one", "A/one"},
	"List two in A":                {denied, "A/two", denied, "A/two"},
	"List one everywhere":          {denied, "A/one", "A/one", "A/one B/one"},
	"List the Secrets of A":        {denied, denied, denied, "A/secret"},
	"List nodes":                   {denied, denied, denied, ""},
	"List the latest of A":         {denied, "A/one A/two", denied, "A/one A/two"},
	"List the latest everywhere":   {denied, "A/one A/two", denied, "A/one A/two B/one"},
	"List the latest one":          {denied, "A/one", "A/one", "A/one B/one"},
	"List the uncached of A":       {denied, denied, denied, "A/template"},
	"GetTable of A":                {denied, "A/one A/two", denied, "A/one A/two"},
	"GetTable everywhere":          {denied, denied, denied, "A/one A/two B/one"},
	"GetTable of A/one":            {denied, "A/one", "A/one", "A/one"},
	"Watch the uncached of A":      {denied, denied, denied, "A/template"},
	"Watch the uncached":           {denied, denied, denied, "A/template"},
	"Watch A":                      {denied, "A/one A/two", denied, "A/one A/two"},
	"Watch B":                      {denied, denied, denied, "B/one"},
	"Watch everywhere":             {denied, "A/one A/two", denied, "A/one A/two B/one"},
	"Watch A/one":                  {denied, "A/one", "A/one", "A/one"},
	"Watch A/two":                  {denied, "A/two", denied, "A/two"},
	"Watch one everywhere":         {denied, "A/one", "A/one", "A/one B/one"},
	"Watch the Secrets of A":       {denied, denied, denied, "A/secret"},
	"Watch nodes":                  {denied, denied, denied, ""},
	"Watch a page of A":            {denied, "A/one A/two of 2 after 0", denied, "A/one A/two of 2 after 0"},
	"Watch a page of B":            {denied, denied, denied, "B/one of 1 after 0"},
	"Watch a page of A/one":        {denied, "A/one of 1 after 0", "A/one of 1 after 0", "A/one of 1 after 0"},
	"Watch a page of A/two":        {denied, "A/two of 1 after 0", denied, "A/two of 1 after 0"},
	"Watch a page of all":          {denied, "A/one A/two of 2 after 0", denied, "A/one A/two of 3 after 0"},
	"Watch a page after A/two":     {denied, "A/one of 2 after 1", denied, "A/one B/one of 3 after 1"},
	"Watch a page after B/one":     {denied, absent, denied, " of 3 after 3"},
	"WatchMany of A":               {denied, "A/one A/two", denied, "A/one A/two"},
	"WatchMany of A and B":         {denied, denied, denied, "A/one A/two B/one"},
	"WatchMany of A, Secrets too":  {denied, denied, denied, "A/one A/secret A/two"},
	"Patch A/one":                  {denied, "A/one", "A/one", "A/one"},
	"Patch A/two":                  {denied, "A/two", denied, "A/two"},
	"Patch B/one":                  {denied, denied, denied, "B/one"},
	"Create A/new":                 {denied, "A/new", denied, "A/new"},
	"Create B/new":                 {denied, denied, denied, "B/new"},
	"Update A/one":                 {denied, "A/one", "A/one", "A/one"},
	"Update A/two":                 {denied, "A/two", denied, "A/two"},
	"Update B/one":                 {denied, denied, denied, "B/one"},
	"Delete A/one":                 {denied, "1", "1", "1"},
	"Delete A/two":                 {denied, "1", denied, "1"},
	"Delete B/one":                 {denied, denied, denied, "1"},
	"DeleteCollection in A":        {denied, "2", denied, "2"},
	"DeleteCollection in B":        {denied, denied, denied, "1"},
	"Count in A":                   {denied, "2 A:2", denied, "2 A:2"},
	"Count in B":                   {denied, denied, denied, "1 B:1"},
	"Count everywhere":             {denied, "2 A:2", denied, "3 A:2 B:1"},
	"List A with its Secret":       {denied, "A/one:denied A/two:denied", denied, "A/one:1 A/two:1"},
	"List all with their Secrets":  {denied, "A/one:denied A/two:denied", denied, "A/one:1 A/two:1 B/one:0"},
	"List one with its ConfigMap":  {denied, "A/one:1", "A/one:denied", "A/one:1 B/one:1"},
	"WatchCounts in A":             {denied, "2 A:2", denied, "2 A:2"},
	"WatchCounts in B":             {denied, denied, denied, "1 B:1"},
	"WatchCounts everywhere":       {denied, "2 A:2", denied, "3 A:2 B:1"},
	"List what A/one owns":         {denied, "", denied, ""},
	"List what A/none owns":        {denied, absent, denied, absent},
	"List what a Secret owns":      {denied, denied, denied, ""},
	"List what no Secret owns":     {denied, denied, denied, absent},
	"ListResourceTypes":            {"not counted", "not counted", "not counted", "counted"},
	"GetSchema":                    {"ConfigMap", "ConfigMap", "ConfigMap", "ConfigMap"},
	"GetLogs of A/one":             {denied, "A/one", "A/one", "A/one"},
	"GetLogs of A/two":             {denied, "A/two", denied, "A/two"},
	"GetLogs of A/none":            {denied, absent, absent, absent},
	"GetLogs of B/one":             {denied, denied, denied, "B/one"},
	"GetLogs of B/none":            {denied, denied, denied, absent},
	"GetLogLines of A/one":         {denied, "A/one", "A/one", "A/one"},
	"GetLogLines of A/two":         {denied, "A/two", denied, "A/two"},
	"GetLogLines of A/none":        {denied, absent, absent, absent},
	"GetLogLines of A":             {denied, "A/one A/two", denied, "A/one A/two"},
	"GetLogLines of B":             {denied, denied, denied, "B/one"},
	"GetLogLines of one in A":      {denied, "A/one", "A/one", "A/one"},
	"GetLogLines everywhere":       {denied, "A/one A/two", denied, "A/one A/two B/one"},
	"GetLogLines of A, followed":   {denied, "A/one", denied, "A/one"},
}

// TestPermissions_EveryMethodChecksEveryCaller compares the result of each call over each protocol
// with the matrix.
func TestPermissions_EveryMethodChecksEveryCaller(t *testing.T) {
	t.Parallel()
	wantEveryMethod(t)
	service := kit.StartForCallers(t, "--uncached", "podtemplates")
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.Deadline(t)
			m := newMatrix(ctx, t)
			m.untilKnown(ctx, t, service)
			for callerName, headers := range m.unknown() {
				clients := kit.CallingWithHeaders(t, service, protocol, headers)
				for name, call := range m.calls(clients) {
					m.wantAnswer(ctx, t, callerName+": "+name, call, unknown)
				}
			}
			for i, caller := range m.callers {
				calls := m.calls(caller.Calling(service, protocol))
				for name, want := range rightsMatrix {
					m.wantAnswer(ctx, t, caller.Name+": "+name, calls[name], want[i])
				}
			}
		})
	}
}

// wantEveryMethod fails the test if the matrix lacks a method of the API.
func wantEveryMethod(t *testing.T) {
	t.Helper()
	tried := map[string]bool{}
	for name := range rightsMatrix {
		method, _, _ := strings.Cut(name, " ")
		tried[strings.TrimSuffix(method, ":")] = true
	}
	for method := range methodsOfTheAPI() {
		if !tried[method] {
			t.Errorf("%s is not in the matrix", method)
		}
	}
}

// matrix holds the objects and accounts for the calls of the matrix.
type matrix struct {
	t       *testing.T
	a, b    string // the namespaces
	callers [4]kit.Account
}

func newMatrix(ctx context.Context, t *testing.T) *matrix {
	t.Helper()
	m := &matrix{t: t, a: kit.NewNamespace(ctx, t, kit.Cluster(t)), b: kit.NewNamespace(ctx, t, kit.Cluster(t))}
	m.a, m.b = min(m.a, m.b), max(m.a, m.b)              // in the order of a sorted page
	own := kit.Labels{"matrix": m.a, "secret": "secret"} // the names of a namespace and an object
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), m.a).Create("one", own)
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), m.a).Create("two", own)
	kit.ConfigMapsIn(ctx, t, kit.Cluster(t), m.b).Create("one", own)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "secret", Labels: own}}
	if _, err := kit.Cluster(t).Client.CoreV1().Secrets(m.a).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	template := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: "template", Labels: own}}
	template.Template.Spec = kit.UnscheduledPod("").Spec
	if _, err := kit.Cluster(t).Client.CoreV1().PodTemplates(m.a).Create(ctx, template, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kit.CreateDeployment(ctx, t, m.a, "web", 0)
	for i, name := range []string{"nobody", "of-namespace", "of-name", "admin"} {
		m.callers[i] = kit.NewAccount(ctx, t, m.a, name)
	}
	m.startLogging(ctx, map[string][]string{m.a: {"one", "two"}, m.b: {"one"}})
	verbs := []string{"get", "list", "watch", "patch", "create", "update", "delete", "deletecollection"}
	all := []rbacv1.PolicyRule{kit.Rule("configmaps", verbs...), kit.Rule("pods", "get", "list", "watch"), kit.Rule("pods/log", "get")}
	m.callers[1].GrantIn(m.a, "of-namespace", all...)
	named := slices.Clone(all)
	for i := range named {
		named[i].ResourceNames = []string{"one", "none"}
	}
	m.callers[2].GrantIn(m.a, "of-name", named...)
	kit.GrantAdmin(ctx, t, m.callers[3])
	return m
}

// startLogging creates pods, by namespace, each of which logs its name in the matrix.
func (m *matrix) startLogging(ctx context.Context, pods map[string][]string) {
	m.t.Helper()
	node := kubelet.Start(m.t, kit.Cluster(m.t).Client)
	for namespace, names := range pods {
		for _, name := range names {
			kit.StartPod(ctx, m.t, node, namespace, name, "main")
			log := &kubelet.Log{}
			log.Write(m.nameOf(namespace, name))
			log.End()
			node.Answer(namespace, name, "main", log)
			kit.SetContainers(ctx, m.t, namespace, name, kit.Terminated("main", 0, "Completed", 0))
		}
	}
}

// unknown returns the headers of unauthenticated callers.
func (m *matrix) unknown() map[string]http.Header {
	admin := m.callers[3]
	return map[string]http.Header{
		"without a token":              {},
		"with a bad token":             {"Authorization": {"Bearer token"}},
		"with an expired token":        {"Authorization": {"Bearer " + admin.ExpiringToken(time.Now().Add(-time.Second))}},
		"with an impersonation header": {"Impersonate-User": {admin.User()}, "Impersonate-Group": {"system:masters"}},
	}
}

// answer makes a call, and returns what it shows, or its error.
type answer func(context.Context) (string, error)

// calls returns all calls of the matrix with some clients.
func (m *matrix) calls(clients harness.Clients) map[string]answer {
	calls := map[string]answer{
		"WhoAmI":                       m.whoAmI(clients),
		"CheckAccess: get A/one":       m.checkAccess(clients, &kubeconnectv1.AccessCheck{Verb: "get", Resource: "configmaps", Namespace: m.a, Name: "one"}),
		"CheckAccess: get A/two":       m.checkAccess(clients, &kubeconnectv1.AccessCheck{Verb: "get", Resource: "configmaps", Namespace: m.a, Name: "two"}),
		"CheckAccess: list everywhere": m.checkAccess(clients, &kubeconnectv1.AccessCheck{Verb: "list", Resource: "configmaps"}),
		"ListResourceTypes":            m.listTypes(clients),
		"Count in A":                   m.count(clients, m.a),
		"Count in B":                   m.count(clients, m.b),
		"Count everywhere":             m.count(clients, ""),
		"List A with its Secret":       m.listJoined(clients, m.a, "", "secrets", "metadata.labels.secret"),
		"List all with their Secrets":  m.listJoined(clients, "", "", "secrets", "metadata.labels.secret"),
		"List one with its ConfigMap":  m.listJoined(clients, "", "metadata.name=one", "configmaps", "metadata.name"),
		"WatchCounts in A":             m.watchCounts(clients, m.a),
		"WatchCounts in B":             m.watchCounts(clients, m.b),
		"WatchCounts everywhere":       m.watchCounts(clients, ""),
		"List what A/one owns":         m.listOwned(clients, "configmaps", "one"),
		"List what A/none owns":        m.listOwned(clients, "configmaps", "none"),
		"List what a Secret owns":      m.listOwned(clients, "secrets", "secret"),
		"List what no Secret owns":     m.listOwned(clients, "secrets", "none"),
		"GetSchema":                    m.getSchema(clients),
		"GetLogs of A/one":             m.getLogs(clients, m.a, "one"),
		"GetLogs of A/two":             m.getLogs(clients, m.a, "two"),
		"GetLogs of A/none":            m.getLogs(clients, m.a, "none"),
		"GetLogs of B/one":             m.getLogs(clients, m.b, "one"),
		"GetLogs of B/none":            m.getLogs(clients, m.b, "none"),
		"GetLogLines of A/one":         m.getLogLines(clients, &kit.LinesRequest{Namespace: m.a, Name: "one"}),
		"GetLogLines of A/two":         m.getLogLines(clients, &kit.LinesRequest{Namespace: m.a, Name: "two"}),
		"GetLogLines of A/none":        m.getLogLines(clients, &kit.LinesRequest{Namespace: m.a, Name: "none"}),
		"GetLogLines of A":             m.getLogLines(clients, &kit.LinesRequest{Namespace: m.a}),
		"GetLogLines of B":             m.getLogLines(clients, &kit.LinesRequest{Namespace: m.b}),
		"GetLogLines of one in A":      m.getLogLines(clients, &kit.LinesRequest{Namespace: m.a, FieldSelector: "metadata.name=one"}),
		"GetLogLines everywhere":       m.getLogLines(clients, &kit.LinesRequest{Filter: m.ownPods()}),
		"GetLogLines of A, followed":   m.getLogLines(clients, &kit.LinesRequest{Namespace: m.a, Follow: true, LimitLines: ptr.To(int64(1))}),
		"Get A/one":                    m.get(clients, "configmaps", m.a, "one"),
		"Get A/two":                    m.get(clients, "configmaps", m.a, "two"),
		"Get A/none":                   m.get(clients, "configmaps", m.a, "none"),
		"Get B/one":                    m.get(clients, "configmaps", m.b, "one"),
		"Get B/none":                   m.get(clients, "configmaps", m.b, "none"),
		"Get a Secret in A":            m.get(clients, "secrets", m.a, "secret"),
		"Watch a page of A":            m.watchPage(clients, m.a, "", nil),
		"Watch a page of B":            m.watchPage(clients, m.b, "", nil),
		"Watch a page of A/one":        m.watchPage(clients, m.a, "one", nil),
		"Watch a page of A/two":        m.watchPage(clients, m.a, "two", nil),
		"Watch a page of all":          m.watchPage(clients, "", "", nil),
		"Watch a page after A/two":     m.watchPage(clients, "", "", &kubeconnectv1.ObjectName{Namespace: m.a, Name: "two"}),
		"Watch a page after B/one":     m.watchPage(clients, "", "", &kubeconnectv1.ObjectName{Namespace: m.b, Name: "one"}),
		"WatchMany of A":               m.watchMany(clients, kit.InNamespace("configmaps", m.a)),
		"WatchMany of A and B":         m.watchMany(clients, kit.InNamespace("configmaps", m.a), kit.InNamespace("configmaps", m.b)),
		"WatchMany of A, Secrets too":  m.watchMany(clients, kit.InNamespace("configmaps", m.a), kit.InNamespace("secrets", m.a)),
		"Get the latest A/one":         m.getLatest(clients, m.a, "one"),
		"Get the latest A/two":         m.getLatest(clients, m.a, "two"),
		"Get the latest A/none":        m.getLatest(clients, m.a, "none"),
		"Get the latest B/one":         m.getLatest(clients, m.b, "one"),
		"Get an uncached one of A":     m.get(clients, "podtemplates", m.a, "template"),
		"Get the scale of A/web":       m.getScale(clients),
		"List the latest of A":         m.listLatest(clients, m.a, ""),
		"List the latest everywhere":   m.listLatest(clients, "", ""),
		"List the latest one":          m.listLatest(clients, "", "metadata.name=one"),
		"List the uncached of A":       m.list(clients, "podtemplates", m.a, ""),
		"GetTable of A":                m.getTable(clients, m.a, ""),
		"GetTable everywhere":          m.getTable(clients, "", ""),
		"GetTable of A/one":            m.getTable(clients, m.a, "one"),
		"Watch the uncached of A":      m.watch(clients, "podtemplates", m.a, "", ""),
		"Watch the uncached":           m.watch(clients, "podtemplates", "", "", ""),
		"Patch A/one":                  m.patch(clients, m.a, "one"),
		"Patch A/two":                  m.patch(clients, m.a, "two"),
		"Patch B/one":                  m.patch(clients, m.b, "one"),
		"Create A/new":                 m.create(clients, m.a, "new"),
		"Create B/new":                 m.create(clients, m.b, "new"),
		"Update A/one":                 m.update(clients, m.a, "one"),
		"Update A/two":                 m.update(clients, m.a, "two"),
		"Update B/one":                 m.update(clients, m.b, "one"),
		"Delete A/one":                 m.delete(clients, m.a, "one"),
		"Delete A/two":                 m.delete(clients, m.a, "two"),
		"Delete B/one":                 m.delete(clients, m.b, "one"),
		"DeleteCollection in A":        m.deleteCollection(clients, m.a),
		"DeleteCollection in B":        m.deleteCollection(clients, m.b),
	}
	for name, test := range map[string]struct{ resource, namespace, fields string }{
		"A":                {"configmaps", m.a, ""},
		"B":                {"configmaps", m.b, ""},
		"everywhere":       {"configmaps", "", ""},
		"one in A":         {"configmaps", m.a, "metadata.name=one"},
		"two in A":         {"configmaps", m.a, "metadata.name=two"},
		"one everywhere":   {"configmaps", "", "metadata.name=one"},
		"the Secrets of A": {"secrets", m.a, ""},
		"nodes":            {"nodes", "", ""},
	} {
		calls["List "+name] = m.list(clients, test.resource, test.namespace, test.fields)
		calls["Watch "+name] = m.watch(clients, test.resource, test.namespace, "", test.fields)
	}
	for _, name := range []string{"one", "two"} {
		delete(calls, "Watch "+name+" in A") // a watch has a field for the name
		calls["Watch A/"+name] = m.watch(clients, "configmaps", m.a, name, "")
	}
	return calls
}

// wantAnswer fails the test unless the result of a call is the one in the matrix.
func (m *matrix) wantAnswer(ctx context.Context, t *testing.T, name string, call answer, want string) {
	t.Helper()
	got, err := call(ctx)
	if err != nil {
		got = connect.CodeOf(err).String()
	}
	if got != want {
		t.Errorf("%s: got %q, want %q (%v)", name, got, want, err)
	}
}

// untilKnown blocks until the callers' permissions are effective at the API server and the service.
func (m *matrix) untilKnown(ctx context.Context, t *testing.T, service *harness.Service) {
	t.Helper()
	for i, namespace := range map[int]string{1: m.a, 2: m.a, 3: m.b} {
		get := m.get(m.callers[i].Calling(service, harness.Connect), "configmaps", namespace, "one")
		kit.Eventually(ctx, t, "the permissions are effective", func() error {
			_, err := get(ctx)
			return err
		})
	}
}

func (m *matrix) label() string { return "matrix=" + m.a }

// short returns the matrix's name of a namespace.
func (m *matrix) short(namespace string) string {
	return map[string]string{m.a: "A", m.b: "B"}[namespace]
}

// names returns the matrix's names of some objects.
func (m *matrix) names(objects ...*kubeconnectv1.Object) string {
	var names []string
	for _, object := range objects {
		if object != nil {
			names = append(names, m.nameOf(object.GetNamespace(), object.GetName()))
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func (m *matrix) nameOf(namespace, name string) string {
	return map[string]string{m.a: "A", m.b: "B"}[namespace] + "/" + name
}
