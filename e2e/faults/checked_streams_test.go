package faults_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// checkedFollower resumes a watch with the last token, at the next client each time.
type checkedFollower struct {
	request *kubeconnectv1.WatchRequest
	clients []kit.ResourceClient

	model  validate.Model
	ends   []error
	faults []string
	last   *kubeconnectv1.WatchResponse
}

func (f *checkedFollower) follow(ctx context.Context, until func(*validate.Model) bool) {
	token := ""
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	for i := 0; ctx.Err() == nil; i++ {
		request := proto.CloneOf(f.request)
		request.ResumeToken = token
		stream, err := responses.Of(f.clients[i%len(f.clients)].Watch(watching, request))
		if err != nil {
			f.ends = append(f.ends, err)
			continue
		}
		for stream.Receive() {
			f.last = stream.Msg()
			token = f.last.GetResumeToken()
			f.take(i > 0)
			if f.model.Synced && until(&f.model) {
				cancel()
				_ = stream.Close()
				return
			}
		}
		f.ends = append(f.ends, stream.Err())
		if token == "" {
			f.faults = append(f.faults, fmt.Sprintf("call %d has ended without a token: %v", i, stream.Err()))
		}
		_ = stream.Close()
	}
	f.faults = append(f.faults, fmt.Sprintf("the deadline came: %v", context.Cause(ctx)))
}

func (f *checkedFollower) take(resumed bool) {
	for _, event := range f.last.GetEvents() {
		if event.GetPatchFormat() != 0 && f.model.Objects[validate.KeyOf(event.GetObject())] == nil {
			f.faults = append(f.faults, fmt.Sprintf("a patch to what is not held: %v", record.Line(event)))
		}
		event = f.model.Whole(event)
		key := validate.KeyOf(event.GetObject())
		held := f.model.Objects[key]
		switch event.GetType() {
		case kubeconnectv1.EventType_EVENT_TYPE_RESET:
			if resumed {
				f.faults = append(f.faults, "RESET in a stream that was resumed")
			}
		case kubeconnectv1.EventType_EVENT_TYPE_ADDED:
			if held != nil {
				f.faults = append(f.faults, fmt.Sprintf("ADDED of %v, which is held at %s", key, held.GetResourceVersion()))
			}
		case kubeconnectv1.EventType_EVENT_TYPE_MODIFIED:
			// What a replica does not remember comes as the latest state: hold it.
			if !resumed && held == nil || !laterThan(event.GetResourceVersion(), held.GetResourceVersion()) {
				f.faults = append(f.faults, fmt.Sprintf("MODIFIED of %v at %s, which is held at %q", key, event.GetResourceVersion(), held.GetResourceVersion()))
			}
		}
		f.model.Apply(event)
	}
}

func laterThan(version, than string) bool {
	return len(version) > len(than) || len(version) == len(than) && version > than
}

// "a watch ends at an age of --max-stream-age ... It ends with UNAVAILABLE and the reason StreamMoved,
// after a message with a resume token, and never within a snapshot. ... A resumed watch gets what it
// has missed, and no snapshot."
func TestChecked_StreamsMoveToReplicasAtTheirMaximumAge(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	for name, flags := range map[string][]string{"cached": nil, "uncached": {"--uncached", "pods"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			continueAtOtherReplicas(t, name == "cached", append(flags, "--max-stream-age", "2s")...)
		})
	}
}

// continueAtOtherReplicas follows watches of every kind. Where nothing is remembered, a stream may
// begin again.
func continueAtOtherReplicas(t *testing.T, remembers bool, flags ...string) {
	t.Helper()
	ctx := kit.DeadlineAfter(t, 2*kit.WaitTimeout)
	s := kit.NewPodSet(ctx, t, 8)
	clients := kit.NewReplicas(t, kit.Cluster(t), 3, flags...)
	owned := &kubeconnectv1.Relation{Type: kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, Resource: "configmaps", Namespace: s.Namespace, Name: "owner"}
	selected := &kubeconnectv1.Relation{Type: kubeconnectv1.RelationType_RELATION_TYPE_SELECTED_BY, Resource: "services", Namespace: s.Namespace, Name: "front"}
	json := kubeconnectv1.Encoding_ENCODING_JSON
	requests := map[string]*kubeconnectv1.WatchRequest{
		"all":      {},
		"labels":   {LabelSelector: "app=web"},
		"rank":     {LabelSelector: "rank in (0,2)"},
		"fields":   {FieldSelector: "metadata.name!=p-03", Fields: []string{"metadata.labels"}},
		"filter":   {Filter: "object.metadata.labels.rank != '1'"},
		"merge":    {PatchFormat: kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE, Encoding: json},
		"patch":    {PatchFormat: kubeconnectv1.PatchFormat_PATCH_FORMAT_JSON, Encoding: json},
		"metadata": {MetadataOnly: true},
		"owned":    {Related: owned},
		"selected": {Related: selected},
		"one":      {Name: "p-01"},
	}
	followers := map[string]*checkedFollower{}
	done := make(chan struct{}, len(requests))
	for name, request := range requests {
		request.Resource, request.Namespace = "pods", s.Namespace
		f := &checkedFollower{request: request, clients: clients}
		followers[name] = f
		go func() {
			defer func() { done <- struct{}{} }()
			f.follow(ctx, func(model *validate.Model) bool {
				return model.Objects[validate.Key{Namespace: s.Namespace, Name: "p-01"}].GetUid() != "" && isEnd(model, s.Namespace)
			})
		}()
	}
	for began := time.Now(); time.Since(began) < 15*time.Second; time.Sleep(50 * time.Millisecond) {
		i := int(time.Since(began) / (50 * time.Millisecond))
		name := fmt.Sprintf("p-%02d", 2+i%6)
		switch i % 4 {
		case 0:
			s.Relabel(name, fmt.Sprintf(`{"rank":"%d"}`, i%3))
		case 1:
			s.Delete(name)
			s.Create(name, kit.Labels{"app": "web", "rank": fmt.Sprint(i % 3)})
		case 2:
			s.Relabel(name, `{"app":"db"}`)
		default:
			s.Relabel("p-01", fmt.Sprintf(`{"n":"%d"}`, i))
		}
	}
	s.Relabel("p-01", `{"end":"end","rank":"0"}`)
	for range requests {
		<-done
	}
	for name, f := range followers {
		moved := 0
		for _, err := range f.ends {
			if connect.CodeOf(err) == connect.CodeUnavailable && kit.StatusIn(err).GetReason() == "StreamMoved" {
				moved++
				continue
			}
			t.Errorf("%s: a call has ended with %v", name, err)
		}
		if moved < 3 {
			t.Errorf("%s: the stream has moved %d times", name, moved)
		}
		if !remembers {
			t.Logf("%s: moved %d times, %d RESETs", name, moved, f.model.Resets)
			f.model.Resets = 1
			f.faults = slices.DeleteFunc(f.faults, func(fault string) bool { return strings.HasPrefix(fault, "RESET") })
		}
		if f.model.Resets != 1 || len(f.faults) > 0 {
			t.Errorf("%s: %d RESETs; %d faults:\n%s", name, f.model.Resets, len(f.faults), strings.Join(f.faults[:min(10, len(f.faults))], "\n"))
		}
		list, err := clients[0].List(ctx, &kubeconnectv1.ListRequest{
			Resource: "pods", Namespace: s.Namespace, LabelSelector: f.request.GetLabelSelector(), FieldSelector: f.request.GetFieldSelector(), Filter: f.request.GetFilter(),
			Related: f.request.GetRelated(), Fields: f.request.GetFields(), Encoding: f.request.GetEncoding(), MetadataOnly: f.request.GetMetadataOnly(), MinResourceVersion: s.Last,
		})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, object := range list.GetObjects() {
			if f.request.GetName() == "" || object.GetName() == f.request.GetName() {
				want = append(want, contentLine(object, f.request))
			}
		}
		var got []string
		for _, object := range f.model.Objects {
			got = append(got, contentLine(object, f.request))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: holds\n  %s\nwant\n  %s", name, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
		}
	}
}

// contentLine is an object's name and, where all of it is seen, its version.
func contentLine(object *kubeconnectv1.Object, request *kubeconnectv1.WatchRequest) string {
	if len(request.GetFields()) > 0 {
		return object.GetName() + " " + fmt.Sprint(object.GetStruct().AsMap()["metadata"])
	}
	return object.GetName() + " " + object.GetUid() + " " + object.GetResourceVersion()
}

// isEnd reports whether the last write has come: p-01 is labelled with it.
func isEnd(model *validate.Model, namespace string) bool {
	object := model.Objects[validate.Key{Namespace: namespace, Name: "p-01"}]
	if text := object.GetJson(); text != nil {
		return strings.Contains(string(text), `"end":"end"`)
	}
	metadata := object.GetStruct().GetFields()["metadata"].GetStructValue()
	return metadata.GetFields()["labels"].GetStructValue().GetFields()["end"].GetStringValue() == "end"
}

// The deletion of a namespace that a stream covers, and its recreation: what is held in
// the end is what is there.
func TestChecked_StreamFollowsARecreatedNamespace(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.DeadlineAfter(t, 2*kit.WaitTimeout)
	services := kit.NewServices(t, 2)
	d := kit.NewMarkedNamespaces(ctx, t, services, 2, 2)
	clients := d.Clients(d.Reader)
	d.UntilCovers(clients, 0, d.Namespaces...)
	request := &kubeconnectv1.WatchRequest{Resource: "configmaps", LabelSelector: "mark=" + d.Mark}
	var rights validate.Rights
	began := time.Now()
	stream := record.Watch(t, clients[0], request)
	stream.JudgeBy(func() validate.Evidence { return validate.Evidence{Rights: rights, Recheck: kit.UnnoticedPermissions} })
	point := kit.LastPoint(t, stream.Synced(ctx))
	again := d.Namespaces[1]
	if err := kit.Cluster(t).Client.CoreV1().Namespaces().Delete(ctx, again, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(ctx, t, "the namespace is gone", func() error {
		_, err := kit.Cluster(t).Client.CoreV1().Namespaces().Get(ctx, again, metav1.GetOptions{})
		if err == nil {
			return fmt.Errorf("it is there")
		}
		return kit.IgnoreNotFound(err)
	})
	rights = validate.Rights{{Namespace: d.Namespaces[0], From: began.Add(-time.Hour)}, {Namespace: again, From: began.Add(-time.Hour), Until: time.Now()}, {Namespace: again, From: time.Now()}}
	kit.CreateNamespace(ctx, t, again)
	made := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), again).Create("b", kit.Labels{"mark": d.Mark})
	d.Grant(again)
	want := func(view *record.View) bool {
		var held []string
		for key, object := range view.Model.Objects {
			held = append(held, key.String())
			if key.Namespace == again && object.GetUid() != string(made.UID) {
				return false
			}
		}
		slices.Sort(held)
		return slices.Equal(held, []string{d.Namespaces[0] + "/a", d.Namespaces[0] + "/b", again + "/b"})
	}
	stream.Until(ctx, "the stream holds what is there", want)
	resumed := record.ResumeElsewhere(t, clients[1], request, point)
	resumed.JudgeBy(func() validate.Evidence { return validate.Evidence{Rights: rights, Recheck: kit.UnnoticedPermissions} })
	resumed.Until(ctx, "a stream that is resumed holds what is there", want)
}
