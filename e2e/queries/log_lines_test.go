package queries_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/utils/ptr"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/kubelet"
)

const (
	logBegan   = kubeconnectv1.LogEventType_LOG_EVENT_TYPE_BEGAN
	logEnded   = kubeconnectv1.LogEventType_LOG_EVENT_TYPE_ENDED
	logWaits   = kubeconnectv1.LogEventType_LOG_EVENT_TYPE_WAITING
	logLimited = kubeconnectv1.LogEventType_LOG_EVENT_TYPE_LIMIT_REACHED
)

// linesOverEachProtocol is kit.OverEachProtocol for the lines of several pods.
func linesOverEachProtocol(t *testing.T, test func(*kit.LoggingPods, kit.PodClient)) {
	t.Helper()
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	for _, protocol := range harness.Protocols {
		t.Run(protocol.Name, func(t *testing.T) {
			t.Parallel()
			test(kit.NewLoggingPods(t), harness.Dial(harness.HTTP2(t), service.Address, protocol).Pods)
		})
	}
}

func podsOf(t *testing.T, service *harness.Service) kit.PodClient {
	return harness.Dial(harness.HTTP2(t), service.Address, harness.GRPC).Pods
}

var web = kit.Labels{"app": "web"}

// TestLogLines_MergeTheLogsOfASelection writes three lines each to three containers, in turn.
func TestLogLines_MergeTheLogsOfASelection(t *testing.T) {
	t.Parallel()
	linesOverEachProtocol(t, func(l *kit.LoggingPods, client kit.PodClient) {
		begin := time.Now().Add(-time.Hour).Truncate(time.Second)
		logs := append(l.Start("web-1", web, "main", "proxy"), l.Start("web-2", web, "main")...)
		l.Start("other", nil, "main")[0].Write("of another pod\n")
		for i := range 9 {
			logs[i%3].WriteAt(begin.Add(time.Duration(i)*400*time.Millisecond), "Stdout", fmt.Sprintf("line %d\n", i))
		}
		for name, test := range map[string]struct {
			change func(*kit.LinesRequest)
			want   string
		}{
			"all":           {func(*kit.LinesRequest) {}, "012345678"},
			"a container":   {func(r *kit.LinesRequest) { r.Container = "main" }, "02356 8"},
			"an expression": {func(r *kit.LinesRequest) { r.Container = "pro.*" }, "147"},
			"no container":  {func(r *kit.LinesRequest) { r.Container = "pro" }, ""},
			"all but one":   {func(r *kit.LinesRequest) { r.ExcludeContainer = "proxy" }, "02356 8"},
			"a tail":        {func(r *kit.LinesRequest) { r.TailLines = ptr.To(int64(1)) }, "678"},
			"no lines":      {func(r *kit.LinesRequest) { r.TailLines = ptr.To(int64(0)) }, ""},
			"since a time": {
				func(r *kit.LinesRequest) { r.SinceTime = timestamppb.New(begin.Add(2000 * time.Millisecond)) }, "5678",
			},
			"since seconds":        {func(r *kit.LinesRequest) { r.SinceSeconds = ptr.To(int64(60)) }, ""},
			"a limit":              {func(r *kit.LinesRequest) { r.LimitLines = ptr.To(int64(4)) }, "0123"},
			"a limit of bytes":     {func(r *kit.LinesRequest) { r.LimitBytes = ptr.To(int64(3 * len("line 0"))) }, "012"},
			"a limit for each pod": {func(r *kit.LinesRequest) { r.LimitLinesPerPod = ptr.To(int64(2)) }, "0125"},
			"a regular expression": {func(r *kit.LinesRequest) { r.LineFilter = &kubeconnectv1.LogLineFilter{Regex: "[67]$"} }, "67"},
			"a text": {func(r *kit.LinesRequest) {
				r.LineFilter = &kubeconnectv1.LogLineFilter{Contains: "E 6", IgnoreCase: true}
			}, "6"},
			"without matches": {func(r *kit.LinesRequest) { r.LineFilter = &kubeconnectv1.LogLineFilter{Regex: "[0-6]", Invert: true} }, "78"},
			"context":         {func(r *kit.LinesRequest) { r.LineFilter = &kubeconnectv1.LogLineFilter{Contains: "7", BeforeLines: 1} }, "47"},
		} {
			l.T.Run(name, func(t *testing.T) {
				request := &kit.LinesRequest{Namespace: l.Namespace, LabelSelector: "app=web"}
				test.change(request)
				lines, _, err := kit.ReadLines(l.Ctx, client, request)
				var got strings.Builder
				for _, line := range lines {
					got.WriteString(strings.TrimPrefix(string(line.GetText()), "line "))
				}
				if want := strings.ReplaceAll(test.want, " ", ""); got.String() != want || err != nil {
					t.Errorf("the lines are %q, want %q: %v", got.String(), want, err)
				}
			})
		}
	})
}

func TestLogLines_SelectPodsLikeOtherCalls(t *testing.T) {
	t.Parallel()
	service, l := harness.StartService(t, kit.Cluster(t).Kubeconfig), kit.NewLoggingPods(t)
	client := podsOf(t, service)
	for _, name := range []string{"web-1", "web-2"} {
		l.Start(name, web, "main")[0].Write(name)
	}
	l.Start("other", nil, "main")[0].Write("other")
	kit.CreateDeployment(l.Ctx, t, l.Namespace, "web", 0)
	for name, test := range map[string]struct {
		request *kit.LinesRequest
		want    string
	}{
		"a namespace":         {&kit.LinesRequest{}, "other web-1 web-2"},
		"a name":              {&kit.LinesRequest{Name: "web-2"}, "web-2"},
		"labels":              {&kit.LinesRequest{LabelSelector: "app!=web"}, "other"},
		"fields":              {&kit.LinesRequest{FieldSelector: "metadata.name=web-1"}, "web-1"},
		"a filter":            {&kit.LinesRequest{Filter: "object.metadata.name.endsWith('2')"}, "web-2"},
		"a deployment":        {&kit.LinesRequest{Related: &kubeconnectv1.Relation{Type: kubeconnectv1.RelationType_RELATION_TYPE_SELECTED_BY, Resource: "deployments", Namespace: l.Namespace, Name: "web"}}, "web-1 web-2"},
		"nothing that exists": {&kit.LinesRequest{LabelSelector: "app=none"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			test.request.Namespace = l.Namespace
			lines, events, err := kit.ReadLines(l.Ctx, client, test.request)
			var got []string
			for _, line := range lines {
				got = append(got, string(line.GetText()))
			}
			slices.Sort(got)
			if strings.Join(got, " ") != test.want || err != nil || len(events) != 2*len(got) {
				t.Errorf("the lines are %q with %d events, want %q: %v", got, len(events), test.want, err)
			}
		})
	}
}

// TestLogLines_FollowPodsThatComeAndGo follows a deployment over a rollout, with a container that
// restarts.
func TestLogLines_FollowPodsThatComeAndGo(t *testing.T) {
	t.Parallel()
	linesOverEachProtocol(t, func(l *kit.LoggingPods, client kit.PodClient) {
		first := l.Start("web-1", web, "main")[0]
		first.Write("one\n")
		stream := kit.OpenLines(l.Ctx, l.T, client, &kit.LinesRequest{Namespace: l.Namespace, LabelSelector: "app=web", Follow: true})
		stream.Want("web-1/main: one")
		if !stream.First.GetCoversAll() {
			l.T.Errorf("the first response is %v", stream.First)
		}
		if event := stream.WantEvent(logBegan, "web-1"); event.GetContainer() != "main" || event.GetPodUid() == "" {
			l.T.Errorf("the event is %v", event)
		}
		first.Write("two\n")
		stream.Want("web-1/main: two")
		second := l.Start("web-2", web, "main")[0]
		second.Write("from its first line\n")
		stream.Want("web-2/main: from its first line")

		first.Write("crashes")
		first.End()
		kit.SetContainers(l.Ctx, l.T, l.Namespace, "web-1", kit.Terminated("main", 0, "OOMKilled", 137))
		stream.Want("web-1/main: crashes")
		if event := stream.WantEvent(logEnded, "web-1"); event.GetReason() != "OOMKilled" || event.GetExitCode() != 137 {
			l.T.Errorf("the event is %v", event)
		}
		again := &kubelet.Log{Previous: first}
		l.Kubelet.Answer(l.Namespace, "web-1", "main", again)
		again.Write("restarted\n")
		kit.SetContainers(l.Ctx, l.T, l.Namespace, "web-1", kit.Running("main", 1))
		stream.Want("web-1/main: restarted")

		second.Write("bye")
		second.End()
		l.Delete("web-2")
		stream.Want("web-2/main: bye")
		if event := stream.WantEvent(logEnded, "web-2"); event.GetReason() != "PodDeleted" {
			l.T.Errorf("the event is %v", event)
		}
	})
}

func TestLogLines_EndWhenAPodLeavesTheSelection(t *testing.T) {
	t.Parallel()
	service, l := harness.StartService(t, kit.Cluster(t).Kubeconfig), kit.NewLoggingPods(t)
	log := l.Start("web-1", web, "main")[0]
	log.Write("one\n")
	stream := kit.OpenLines(l.Ctx, t, podsOf(t, service), &kit.LinesRequest{Namespace: l.Namespace, LabelSelector: "app=web", Follow: true})
	stream.Want("web-1/main: one")
	l.Relabel("web-1", "debugged")
	if event := stream.WantEvent(logEnded, "web-1"); event.GetReason() != "PodNotSelected" {
		t.Errorf("the event is %v", event)
	}
	log.Write("two\n")
	l.Relabel("web-1", "web")
	stream.Want("web-1/main: two")
}

func TestLogLines_WaitForContainers(t *testing.T) {
	t.Parallel()
	service, l := harness.StartService(t, kit.Cluster(t).Kubeconfig), kit.NewLoggingPods(t)
	kit.StartPod(l.Ctx, t, l.Kubelet, l.Namespace, "one", "main")
	stream := kit.OpenLines(l.Ctx, t, podsOf(t, service), &kit.LinesRequest{Namespace: l.Namespace, Name: "one", Follow: true, TailLines: ptr.To(int64(0))})
	stream.WantEvent(logWaits, "one")
	log := &kubelet.Log{}
	log.Write("first line\n")
	l.Kubelet.Answer(l.Namespace, "one", "main", log)
	kit.SetContainers(l.Ctx, t, l.Namespace, "one", kit.Running("main", 0))
	stream.Want("one/main: first line")
}

func TestLogLines_CutLongLines(t *testing.T) {
	t.Parallel()
	service, l := harness.StartService(t, kit.Cluster(t).Kubeconfig), kit.NewLoggingPods(t)
	log := l.Start("web-1", web, "main")[0]
	long := strings.Repeat("0123456789abcdef", 10_000)
	log.Write("short\n", long+"\n", "short\n")
	lines, _, err := kit.ReadLines(l.Ctx, podsOf(t, service), &kit.LinesRequest{Namespace: l.Namespace})
	if err != nil || len(lines) != 5 {
		t.Fatalf("%d lines: %v", len(lines), err)
	}
	var joined []byte
	for i, line := range lines[1:4] {
		joined = append(joined, line.GetText()...)
		if line.GetCut() != (i < 2) || len(line.GetText()) > 64<<10 {
			t.Errorf("part %d has %d bytes, cut: %v", i, len(line.GetText()), line.GetCut())
		}
	}
	if string(joined) != long {
		t.Errorf("the line has %d bytes, want %d", len(joined), len(long))
	}
}

// TestLogLines_ResumeAtAnotherReplica stops a replica while lines are written, and resumes at
// another one after the last position of each container. Some lines match a filter.
func TestLogLines_ResumeAtAnotherReplica(t *testing.T) {
	t.Parallel()
	l := kit.NewLoggingPods(t)
	logs := append(l.Start("web-1", web, "main"), l.Start("web-2", web, "main")...)
	request := &kit.LinesRequest{Namespace: l.Namespace, Follow: true, LineFilter: &kubeconnectv1.LogLineFilter{Regex: "[02468]$"}}
	const replicas, lines = 3, 40
	var got []string
	for replica := range replicas {
		service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
		stream := kit.OpenLines(l.Ctx, t, podsOf(t, service), request)
		for i := range lines {
			logs[i%2].Write(fmt.Sprintf("%d\n", replica*lines+i/2))
		}
		wanted := lines / 2
		if replica < replicas-1 {
			wanted /= 2 // the others are unread when it stops
		}
		for len(stream.Lines) < wanted && stream.Next() {
		}
		if err := service.Stop(); err != nil {
			t.Error(err)
		}
		kit.WantError(t, stream.End(), connect.CodeUnavailable, "shutting down")
		for _, line := range stream.Lines {
			got = append(got, kit.Describe(line))
		}
		for _, position := range stream.Positions {
			request.ResumeAfter = slices.DeleteFunc(request.ResumeAfter, func(p *kubeconnectv1.LogPosition) bool { return p.GetPod() == position.GetPod() })
			request.ResumeAfter = append(request.ResumeAfter, position)
		}
	}
	var want []string
	for i := range replicas * lines {
		if number := i/lines*lines + i%lines/2; number%2 == 0 {
			want = append(want, fmt.Sprintf("web-%d/main: %d", i%2+1, number))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the lines are %q, want %q", got, want)
	}
}

func TestLogLines_RejectInvalidRequests(t *testing.T) {
	t.Parallel()
	service, l := harness.StartService(t, kit.Cluster(t).Kubeconfig), kit.NewLoggingPods(t)
	l.Start("web-1", web, "main", "proxy")
	position := func(sequence int32) *kubeconnectv1.LogPosition {
		return &kubeconnectv1.LogPosition{Namespace: l.Namespace, Pod: "web-1", Container: "main", Time: timestamppb.Now(), Sequence: sequence}
	}
	for message, request := range map[string]*kit.LinesRequest{
		"namespace is required":                      {Name: "web-1"},
		"name is not allowed together":               {Namespace: l.Namespace, Name: "web-1", LabelSelector: "a=b"},
		"previous is not allowed":                    {Namespace: l.Namespace, Follow: true, Previous: true},
		"either since_time or since_seconds":         {Namespace: l.Namespace, SinceSeconds: ptr.To(int64(1)), SinceTime: timestamppb.Now()},
		"invalid since_seconds 0":                    {Namespace: l.Namespace, SinceSeconds: ptr.To(int64(0))},
		"since_time":                                 {Namespace: l.Namespace, SinceTime: &timestamppb.Timestamp{Nanos: -1}},
		"invalid tail_lines -1":                      {Namespace: l.Namespace, TailLines: ptr.To(int64(-1))},
		"invalid limit_lines 0":                      {Namespace: l.Namespace, LimitLines: ptr.To(int64(0))},
		"invalid limit_lines_per_pod 0":              {Namespace: l.Namespace, LimitLinesPerPod: ptr.To(int64(0))},
		"invalid limit_bytes 0":                      {Namespace: l.Namespace, LimitBytes: ptr.To(int64(0))},
		"invalid max_logs 129":                       {Namespace: l.Namespace, MaxLogs: 129},
		"the selection has 2 logs":                   {Namespace: l.Namespace, MaxLogs: 1},
		"container: error parsing regexp":            {Namespace: l.Namespace, Container: "a("},
		"exclude_container: error parsing regexp":    {Namespace: l.Namespace, ExcludeContainer: "a("},
		"line_filter: give either contains or regex": {Namespace: l.Namespace, LineFilter: &kubeconnectv1.LogLineFilter{}},
		"line_filter: 101 context lines":             {Namespace: l.Namespace, LineFilter: &kubeconnectv1.LogLineFilter{Regex: "a", AfterLines: 101}},
		"related.transitive is not supported":        {Namespace: l.Namespace, Follow: true, Related: &kubeconnectv1.Relation{Type: kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, Resource: "deployments", Namespace: l.Namespace, Name: "web", Transitive: true}},
		"resume_after[0]: give the namespace":        {Namespace: l.Namespace, ResumeAfter: []*kubeconnectv1.LogPosition{position(-1)}},
		"resume_after[1]: the container main of pod": {Namespace: l.Namespace, ResumeAfter: []*kubeconnectv1.LogPosition{position(0), position(1)}},
		"unable to parse requirement":                {Namespace: l.Namespace, LabelSelector: "a in"},
		"invalid namespace \"..\"":                   {Namespace: ".."},
	} {
		_, _, err := kit.ReadLines(l.Ctx, podsOf(t, service), request)
		kit.WantError(t, err, connect.CodeInvalidArgument, message)
	}
	_, _, err := kit.ReadLines(l.Ctx, podsOf(t, service), &kit.LinesRequest{Namespace: l.Namespace, Name: "none"})
	kit.WantError(t, err, connect.CodeNotFound, `pods "none" not found`)
}
