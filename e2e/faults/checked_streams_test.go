package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/record"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// "A stream at a replica that has yet to read its resource gets a BOOKMARK without a version after a
// second, and UNAVAILABLE with the last error of the API server after 10 seconds." "it changes
// nothing that you hold, and has the resume token of the request".
func TestChecked_StreamReportsThatItsSnapshotIsPending(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	for name, fault := range map[string]harness.Fault{"frozen": harness.Frozen, "refused": harness.Refused} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.DeadlineAfter(t, 2*kit.WaitTimeout)
			s := kit.NewPodSet(ctx, t, 2)
			request := &kubeconnectv1.WatchRequest{Resource: "pods", Namespace: s.Namespace}
			point := kit.LastPoint(t, record.Watch(t, kit.NewClient(t, kit.Cluster(t)), request).Synced(ctx))
			client, link := kit.NewClientBehindProxy(t, kit.Cluster(t), harness.None)
			warm := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: s.Namespace})
			warm.Synced(ctx)
			link.Set(fault)
			for _, token := range []string{"", point.Token} {
				request := proto.CloneOf(request)
				request.ResumeToken = token
				began := time.Now()
				stream, err := client.Watch(ctx, request)
				if err != nil {
					t.Fatal(err)
				}
				count := 0
				var last time.Time
				for stream.Receive() {
					count++
					response := stream.Msg()
					t.Logf("token %t: after %v: %v", token != "", time.Since(began).Round(time.Millisecond), shortResponse(response))
					if events := response.GetEvents(); len(events) != 1 || events[0].GetType() != kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK || events[0].GetResourceVersion() != "" || events[0].GetObject() != nil {
						t.Errorf("the stream says %v", response)
					}
					if response.GetResumeToken() != token {
						t.Errorf("the token is %q, that of the request %q", response.GetResumeToken(), token)
					}
					if response.GetFreshness() == nil || response.GetFreshness().GetLastContact() != nil {
						t.Errorf("without a snapshot it is as fresh as %v", response.GetFreshness())
					}
					last = time.Now()
				}
				err = stream.Err()
				_ = stream.Close()
				t.Logf("after %v, %v after the last response: %v with status %v", time.Since(began), time.Since(last), err, kit.StatusIn(err))
				if count == 0 && fault == harness.Frozen {
					t.Errorf("the stream has said nothing before %v", err)
				}
				kit.WantError(t, err, connect.CodeUnavailable)
			}
			_, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace})
			t.Logf("a list: %v with status %v", err, kit.StatusIn(err))
			kit.WantError(t, err, connect.CodeUnavailable)
			link.Set(harness.None)
			record.ResumeElsewhere(t, client, request, point).Reaches(ctx, s.Last)
		})
	}
}

func shortResponse(response *kubeconnectv1.WatchResponse) string {
	text := response.String()
	return text[:min(len(text), 300)]
}

// "the answer is as of last_contact, and what has happened since may be missing": what had happened
// by last_contact is in the answer, and stale is reported once the API server is lost.
func TestChecked_FreshnessMatchesTheLastContact(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	for name, fault := range map[string]harness.Fault{"frozen": harness.Frozen, "refused": harness.Refused, "dropped": harness.Dropped} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := kit.DeadlineAfter(t, 2*kit.WaitTimeout)
			namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
			write := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace)
			client, link := kit.NewClientBehindProxy(t, kit.Cluster(t), harness.None)
			write.Create("written", nil)
			kit.UntilRead(ctx, t, client, "configmaps", write.Touch("written", "before"))
			stream := record.Watch(t, client, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace})
			stream.Synced(ctx)
			link.Set(fault)
			cut := time.Now()
			time.Sleep(time.Second)
			missed := write.Touch("written", "missed")
			acked := time.Now()
			stale := func(freshness *kubeconnectv1.Freshness, version string) error {
				if at := freshness.GetLastContact().AsTime(); at.After(acked) && version != missed.ResourceVersion {
					t.Errorf("contact at %v, the write was answered at %v, the link cut at %v", at, acked, cut)
				}
				if !freshness.GetStale() {
					return fmt.Errorf("it says %v", freshness)
				}
				return nil
			}
			kit.Eventually(ctx, t, "an answer is stale", func() error {
				answer, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: "written"})
				if err != nil {
					return err
				}
				return stale(answer.GetFreshness(), answer.GetObject().GetResourceVersion())
			})
			t.Logf("reported after %v", time.Since(cut))
			list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace})
			if err != nil || stale(list.GetFreshness(), "") != nil {
				t.Errorf("a list is as fresh as %v: %v", list.GetFreshness(), err)
			}
			count, err := client.Count(ctx, &kubeconnectv1.CountRequest{Resource: "configmaps", Namespace: namespace})
			if err != nil || stale(count.GetFreshness(), "") != nil {
				t.Errorf("a count is as fresh as %v: %v", count.GetFreshness(), err)
			}
			stream.Until(ctx, "the stream is stale", func(view *record.View) bool { return stale(view.Freshness, "") == nil })
			_, err = client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: "written", MinResourceVersion: missed.ResourceVersion})
			kit.WantError(t, err, connect.CodeDeadlineExceeded)
			if kit.StatusIn(err).GetRetryAfterSeconds() <= 0 {
				t.Errorf("no time to try again in %v", kit.StatusIn(err))
			}
			link.Set(harness.None)
			kit.Eventually(ctx, t, "an answer is current", func() error {
				answer, err := client.Get(ctx, &kubeconnectv1.GetRequest{Resource: "configmaps", Namespace: namespace, Name: "written"})
				if err != nil {
					return err
				}
				if !answer.GetFreshness().GetStale() && answer.GetObject().GetResourceVersion() != missed.ResourceVersion {
					t.Errorf("current, and without the write that was missed: %v", answer.GetFreshness())
				}
				return errorIf(answer.GetFreshness().GetStale(), "stale")
			})
			stream.Until(ctx, "the stream is current", func(view *record.View) bool {
				if !view.Freshness.GetStale() && view.Model.Objects[validate.Key{Namespace: namespace, Name: "written"}].GetResourceVersion() != missed.ResourceVersion {
					t.Errorf("the stream is current without the write that was missed: %v", view.Freshness)
				}
				return !view.Freshness.GetStale()
			})
		})
	}
}

func errorIf(condition bool, text string) error {
	if condition {
		return fmt.Errorf("%s", text)
	}
	return nil
}

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
		stream, err := f.clients[i%len(f.clients)].Watch(watching, request)
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

// "A token of another selection, or one that was cut or changed, is INVALID_ARGUMENT."
func TestChecked_InvalidResumeTokensAreRejected(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.DeadlineAfter(t, 2*kit.WaitTimeout)
	s := kit.NewPodSet(ctx, t, 3)
	clients := kit.NewReplicas(t, kit.Cluster(t), 2)
	request := &kubeconnectv1.WatchRequest{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=web"}
	token := kit.LastPoint(t, record.Watch(t, clients[0], request).Synced(ctx)).Token
	page, err := clients[0].List(ctx, &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=web", PageSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, request *kubeconnectv1.WatchRequest) {
		t.Helper()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := clients[1].Watch(ctx, request)
		if err == nil && stream.Receive() {
			t.Errorf("%s: the stream says %v", what, shortResponse(stream.Msg()))
			return
		}
		if err == nil {
			err = stream.Err()
		}
		if connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%s: %v", what, err)
		}
	}
	with := func(token string, change func(*kubeconnectv1.WatchRequest)) *kubeconnectv1.WatchRequest {
		request := proto.CloneOf(request)
		request.ResumeToken = token
		change(request)
		return request
	}
	same := func(*kubeconnectv1.WatchRequest) {}
	refused("the token of a list", with(page.GetNextPageToken(), same))
	for i := range token {
		if i > 0 {
			refused(fmt.Sprintf("the first %d characters of %q", i, token), with(token[:i], same))
		}
		for _, bit := range []byte{1, 2} {
			changed := token[:i] + string(rune(token[i]^bit)) + token[i+1:]
			refused(fmt.Sprintf("%q for %q", changed, token), with(changed, same))
		}
	}
	for name, change := range map[string]func(*kubeconnectv1.WatchRequest){
		"labels":     func(r *kubeconnectv1.WatchRequest) { r.LabelSelector = "app=db" },
		"no labels":  func(r *kubeconnectv1.WatchRequest) { r.LabelSelector = "" },
		"namespace":  func(r *kubeconnectv1.WatchRequest) { r.Namespace = "default" },
		"everywhere": func(r *kubeconnectv1.WatchRequest) { r.Namespace = "" },
		"resource":   func(r *kubeconnectv1.WatchRequest) { r.Resource = "configmaps" },
		"filter":     func(r *kubeconnectv1.WatchRequest) { r.Filter = "true" },
		"name":       func(r *kubeconnectv1.WatchRequest) { r.Name = "p-01" },
		"related": func(r *kubeconnectv1.WatchRequest) {
			r.Related = &kubeconnectv1.Relation{Type: kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, Resource: "configmaps", Namespace: s.Namespace, Name: "owner"}
		},
	} {
		refused("another "+name, with(token, change))
	}
}

// "RESOURCE_EXHAUSTED (a limit; wait for retry_after_seconds)"; "each watch of a WatchMany counts".
func TestChecked_StreamsAboveTheLimitGetARetryTime(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	client := kit.NewReplicas(t, kit.Cluster(t), 1, "--caller-max-streams", "3")[0]
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	one := &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace}
	many := func(count int) *kubeconnectv1.WatchManyRequest {
		return &kubeconnectv1.WatchManyRequest{Watches: slices.Repeat(harness.WatchSpecs(one), count)}
	}
	open := func(request *kubeconnectv1.WatchManyRequest) (stop func(), err error) {
		ctx, cancel := context.WithCancel(ctx)
		stream, err := client.WatchMany(ctx, request)
		if err != nil {
			cancel()
			return nil, err
		}
		if !stream.Receive() {
			cancel()
			return nil, stream.Err()
		}
		return func() { cancel(); _ = stream.Close() }, nil
	}
	refusedLater := func(what string, err error) {
		t.Helper()
		if connect.CodeOf(err) != connect.CodeResourceExhausted || kit.StatusIn(err).GetRetryAfterSeconds() <= 0 {
			t.Errorf("%s: %v with status %v, want RESOURCE_EXHAUSTED with a time to come back", what, err, kit.StatusIn(err))
		}
	}
	stopTwo, err := open(many(2))
	if err != nil {
		t.Fatal(err)
	}
	_, err = open(many(2))
	refusedLater("two in addition to two of three", err)
	stopOne, err := open(many(1))
	if err != nil {
		t.Fatal(err)
	}
	_, err = kit.FirstOf(ctx, client, one)
	refusedLater("a fourth", err)
	if _, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: namespace}); err != nil {
		t.Errorf("a list in addition to all streams: %v", err)
	}
	stopTwo()
	kit.Eventually(ctx, t, "two are free again", func() error {
		stop, err := open(many(2))
		if err == nil {
			stop()
		}
		return err
	})
	stopOne()
	_, err = open(many(4))
	t.Logf("four of three: %v with status %v", err, kit.StatusIn(err))
	if code := connect.CodeOf(err); code != connect.CodeResourceExhausted {
		t.Errorf("four of three: %v", err)
	}
	for count, want := range map[int]connect.Code{0: connect.CodeInvalidArgument, 101: connect.CodeInvalidArgument} {
		_, err := open(many(count))
		kit.WantError(t, err, want)
	}
	for range 10 { // those that were refused are not counted
		_, err = open(many(101))
		kit.WantError(t, err, connect.CodeInvalidArgument)
	}
	kit.Eventually(ctx, t, "three are free", func() error {
		stop, err := open(many(3))
		if err == nil {
			stop()
		}
		return err
	})
}

// "500 calls each second in the long run, and 2,000 at once": refused with a time, and served when
// that has passed. A page that is refused so can be read again with the same token.
func TestChecked_CallsAboveTheRateAreServedAfterTheirRetryTime(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.Deadline(t)
	s := kit.NewPodSet(ctx, t, 6)
	for _, protocol := range []harness.Protocol{harness.GRPC, harness.Connect, harness.ConnectJSON} {
		service := harness.StartService(t, kit.Cluster(t).Kubeconfig, "--caller-request-rate", "1", "--caller-request-burst", "2")
		client := harness.Dial(harness.HTTP2(t), service.Address, protocol).Resources
		request := &kubeconnectv1.ListRequest{Resource: "pods", Namespace: s.Namespace, LabelSelector: "app=web", PageSize: 1}
		var names []string
		refused := 0
		for len(names) < 6 {
			page, err := client.List(ctx, request)
			if err == nil {
				names = append(names, kit.NamesOf(page.GetObjects())...)
				request.PageToken = page.GetNextPageToken()
				continue
			}
			refused++
			wait := kit.StatusIn(err).GetRetryAfterSeconds()
			if connect.CodeOf(err) != connect.CodeResourceExhausted || wait <= 0 || wait > 10 {
				t.Fatalf("%s: %v with status %v", protocol.Name, err, kit.StatusIn(err))
			}
			time.Sleep(time.Duration(wait) * time.Second)
		}
		if refused == 0 || refused > 6 || !slices.Equal(names, []string{"p-00", "p-01", "p-02", "p-03", "p-04", "p-05"}) {
			t.Errorf("%s: %d refusals, %v", protocol.Name, refused, names)
		}
	}
}

// A token of a caller who saw some namespaces, in the hands of one who sees others: what each may not
// see is not sent, and what each holds in the end is what it may see.
func TestChecked_ResumeTokenOfAnotherCallerGrantsNoPermission(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.DeadlineAfter(t, 2*kit.WaitTimeout)
	services := kit.NewServices(t, 2)
	d := kit.NewMarkedNamespaces(ctx, t, services, 3, 2)
	all := kit.NewAccount(ctx, t, d.Namespaces[0], "all")
	kit.GrantEverywhere(t, all, kit.Rule("configmaps", "list", "watch"))
	request := &kubeconnectv1.WatchRequest{Resource: "configmaps", LabelSelector: "district=" + d.Mark}
	clients := map[string][]kit.ResourceClient{"reader": d.Clients(d.Reader), "all": d.Clients(all)}
	d.UntilCovers(clients["reader"], 0, d.Namespaces[:2]...)
	d.UntilCovers(clients["all"], 0, d.Namespaces...)
	want := map[string][]string{"reader": kit.KeysIn(d.Namespaces[:2]...), "all": kit.KeysIn(d.Namespaces...)}
	for of, other := range map[string]string{"reader": "all", "all": "reader"} {
		point := kit.LastPoint(t, record.Watch(t, clients[of][0], request).Synced(ctx))
		view := record.ResumeElsewhere(t, clients[other][1], request, point).Until(ctx, "it holds what it may see", func(view *record.View) bool {
			var keys []string
			for key := range view.Model.Objects {
				keys = append(keys, key.String())
			}
			slices.Sort(keys)
			return slices.Equal(keys, want[other]) && view.Model.Synced
		})
		t.Logf("%s with the token of %s: %v", other, of, record.Lines(view.Events[len(point.Events):]))
	}
}

// "A replica is ready when it has read the resources of --preload"; "is not ready while the API server
// is away" and has no snapshot.
func TestChecked_ReadinessFollowsThePreloadedSnapshots(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	ctx := kit.DeadlineAfter(t, 2*kit.WaitTimeout)
	in := kit.Cluster(t)
	link := harness.StartProxy(t, in.Address(), harness.None)
	service := harness.StartService(t, harness.KubeconfigTo(t, in.Kubeconfig, link.Address()), "--preload", "configmaps,nothing.example.com")
	kit.UntilProbe(ctx, t, service, "/readyz", http.StatusOK)
	link.Set(harness.Refused)
	kit.UntilProbe(ctx, t, service, "/upstreamz", http.StatusServiceUnavailable)
	if err := kit.Probe(ctx, t, service, "/readyz", http.StatusOK); err != nil {
		t.Errorf("with a snapshot, and the API server away: %v", err)
	}
	client := harness.Dial(harness.HTTP2(t), service.Address, harness.Connect).Resources
	if _, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: "default"}); err != nil {
		t.Error(err)
	}
	cold := harness.StartService(t, harness.KubeconfigTo(t, in.Kubeconfig, link.Address()), "--preload", "configmaps")
	kit.UntilProbe(ctx, t, cold, "/livez", http.StatusOK)
	time.Sleep(2 * time.Second)
	if err := kit.Probe(ctx, t, cold, "/readyz", http.StatusOK); err == nil {
		t.Error("ready without any snapshot")
	}
	link.Set(harness.None)
	kit.UntilProbe(ctx, t, cold, "/readyz", http.StatusOK)
	kit.UntilProbe(ctx, t, service, "/upstreamz", http.StatusOK)
}

// The link goes within the first second of a resource's watch.
func TestChecked_EarlyOutageIsReportedAsStale(t *testing.T) {
	kit.SoakOnly(t)
	t.Parallel()
	for _, fault := range []harness.Fault{harness.Refused, harness.Dropped, harness.Frozen} {
		for _, resource := range []string{"configmaps", "services", "secrets"} {
			t.Run(fmt.Sprint(fault, resource), func(t *testing.T) {
				t.Parallel()
				ctx := kit.DeadlineAfter(t, 30*time.Second)
				client, link := kit.NewClientBehindProxy(t, kit.Cluster(t), harness.None)
				if _, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: resource, Namespace: "default"}); err != nil {
					t.Fatal(err)
				}
				link.Set(fault)
				cut := time.Now()
				kit.Eventually(ctx, t, "a list is stale", func() error {
					list, err := client.List(ctx, &kubeconnectv1.ListRequest{Resource: resource, Namespace: "default"})
					if err == nil && !list.GetFreshness().GetStale() {
						err = fmt.Errorf("cut at %v, it says %v", cut.UTC().Format(time.TimeOnly), list.GetFreshness().GetLastContact().AsTime().Format(time.TimeOnly))
					}
					return err
				})
				t.Logf("reported after %v", time.Since(cut))
			})
		}
	}
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
	request := &kubeconnectv1.WatchRequest{Resource: "configmaps", LabelSelector: "district=" + d.Mark}
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
	made := kit.ConfigMapsIn(ctx, t, kit.Cluster(t), again).Create("b", kit.Labels{"district": d.Mark})
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
