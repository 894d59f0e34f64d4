package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"connectrpc.com/connect/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/bench/callers"
	"github.com/kubeconnect/kubeconnect/e2e/harness"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/internal/responses"
)

// languages are the languages of the clients, with the number of their streams.
var languages = []struct {
	name    string
	streams int
}{{"Go", 90}, {"Python", 30}, {"TypeScript", 30}}

// Causes of a RESET, as the client sees them.
const (
	openStream   = "in an open stream"
	resumed      = "after resuming"
	withoutToken = "without a token" // the client had none to resume with
)

// report is what a client has just received or lost. Programs in other languages print it as JSON.
type report struct {
	Stream int    `json:"stream"`
	Stale  bool   `json:"stale"`
	Sum    int64  `json:"sum"`   // of the checksums of the objects that the client has
	Reset  string `json:"reset"` // the cause, if it was a RESET
	Lost   string `json:"lost"`  // the error, if the stream was lost and is to be resumed
	Ended  string `json:"ended"` // the error, if it was final: the stream is opened again as a new one
}

// stream is what is known of a stream. It is guarded by the fleet's mutex.
type stream struct {
	language, caller      int
	sum                   int64
	heardAt, currentAt    time.Time     // of the last response, and of the last one while current
	longSilent, longStale time.Duration // the longest time without them since the drill began
	recovered             time.Duration // from the fault's end until the stream was current; 0 is not yet
}

// fleet is all streams.
type fleet struct {
	losses, ends, resets callers.Tally

	mu      sync.Mutex // guards the fields below
	streams []stream
	endedAt time.Time // the end of the fault of this drill; zero is not yet
}

// take notes a report.
func (f *fleet) take(r report) {
	switch {
	case r.Lost != "":
		f.losses.Add(r.Lost)
		return
	case r.Ended != "":
		f.ends.Add(r.Ended)
		return
	case r.Reset != "":
		f.resets.Add(r.Reset)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s, now := &f.streams[r.Stream], time.Now()
	s.sum = r.Sum
	s.longSilent, s.heardAt = max(s.longSilent, now.Sub(s.heardAt)), now
	if r.Stale {
		return
	}
	s.longStale, s.currentAt = max(s.longStale, now.Sub(s.currentAt)), now
	if s.recovered == 0 && !f.endedAt.IsZero() {
		s.recovered = max(now.Sub(f.endedAt), 1)
	}
}

// begin begins the observation of a drill.
func (f *fleet) begin() {
	f.losses.Take()
	f.ends.Take()
	f.resets.Take()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.endedAt = time.Time{}
	for i := range f.streams {
		s := &f.streams[i]
		s.heardAt, s.currentAt = time.Now(), time.Now()
		s.longSilent, s.longStale, s.recovered = 0, 0, 0
	}
}

// endFault notes that the fault of the drill has ended.
func (f *fleet) endFault() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.endedAt = time.Now()
}

// observed returns the streams as they are now: times that have not ended count until now.
func (f *fleet) observed() (all []stream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.streams {
		s.longSilent = max(s.longSilent, time.Since(s.heardAt))
		s.longStale = max(s.longStale, time.Since(s.currentAt))
		all = append(all, s)
	}
	return all
}

// assignment is a stream that a program has to open.
type assignment struct {
	Stream    int    `json:"stream"`
	Namespace string `json:"namespace"`
	Token     string `json:"token"`
}

// openFleet opens all streams. They last until ctx ends. closed blocks until they have ended.
func (l *lab) openFleet(ctx context.Context) (f *fleet, closed func(), err error) {
	f = &fleet{}
	var running sync.WaitGroup
	for language, of := range languages {
		var assigned []assignment
		for range of.streams {
			number := len(f.streams)
			caller := number % callerCount
			f.streams = append(f.streams, stream{language: language, caller: caller, heardAt: time.Now(), currentAt: time.Now()})
			assigned = append(assigned, assignment{number, namespaceOf(caller), l.tokens[caller]})
		}
		switch of.name {
		case "Go":
			for _, a := range assigned {
				running.Go(func() { l.follow(ctx, f, a) })
			}
		case "Python":
			err = l.startProgram(ctx, f, &running, assigned, l.python, filepath.Join("bench", "drills", "streams.py"))
		case "TypeScript":
			err = l.startProgram(ctx, f, &running, assigned, "node", filepath.Join("bench", "drills", "streams.mjs"), filepath.Join(l.clients, "clients", "ts", "dist", "node.js"))
		}
		if err != nil {
			return f, running.Wait, err
		}
	}
	return f, running.Wait, nil
}

// startProgram starts a program of this folder, and takes its reports until it ends.
func (l *lab) startProgram(ctx context.Context, f *fleet, running *sync.WaitGroup, assigned []assignment, interpreter, file string, args ...string) error {
	path, err := harness.Path(file)
	if err != nil {
		return err
	}
	input, err := json.Marshal(assigned)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, interpreter, append([]string{path, "http://" + l.balancer.Address()}, args...)...)
	command.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(l.clients, "clients", "python", "src"))
	command.Stdin, command.Stderr = bytes.NewReader(input), os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	running.Go(func() {
		for lines := bufio.NewScanner(output); lines.Scan(); {
			var r report
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				callers.Note("%s prints %q: %v", file, lines.Text(), err)
				continue
			}
			f.take(r)
		}
		if err := command.Wait(); ctx.Err() == nil {
			callers.Note("%s has ended: %v", file, err)
		}
	})
	return nil
}

// dial returns clients of a caller, as Go's http package makes them by default.
func (l *lab) dial(token string) harness.Clients {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	return harness.Dial(&http.Client{Transport: callers.Bearer{Token: token, Base: transport}}, "http://"+l.balancer.Address(), harness.Connect)
}

// isFinal has the codes after which docs/snippets/go/watch does not resume.
var isFinal = map[connect.Code]bool{
	connect.CodeInvalidArgument:    true,
	connect.CodeFailedPrecondition: true,
	connect.CodeUnauthenticated:    true,
	connect.CodePermissionDenied:   true,
	connect.CodeNotFound:           true,
	connect.CodeUnimplemented:      true,
}

// follow keeps a stream as docs/snippets/go/watch does. Where that ends, follow begins again.
func (l *lab) follow(ctx context.Context, f *fleet, a assignment) {
	client := l.dial(a.Token).Resources
	c := &copied{number: a.Stream}
	for {
		err := c.watch(ctx, f, client, a.Namespace)
		if ctx.Err() != nil {
			return
		}
		c.stale = true
		if code := connect.CodeOf(err); isFinal[code] {
			f.take(report{Stream: a.Stream, Ended: "Go " + code.String()})
			c.token = ""
		} else {
			f.take(report{Stream: a.Stream, Lost: "Go " + code.String()})
		}
		callers.Wait(ctx, time.Second)
	}
}

// copied is a caller's copy of the objects of its stream. It is owned by one goroutine.
type copied struct {
	number  int
	token   string
	stale   bool
	objects map[string]*kubeconnectv1.Object
	sum     int64
}

func (c *copied) watch(ctx context.Context, f *fleet, client resourceClient, namespace string) error {
	cause := resumed
	if c.token == "" {
		cause = withoutToken
	}
	responses, err := responses.Of(client.Watch(ctx, &kubeconnectv1.WatchRequest{Resource: "configmaps", Namespace: namespace, ResumeToken: c.token}))
	if err != nil {
		return err
	}
	defer responses.Close()
	for responses.Receive() {
		r := report{Stream: c.number}
		for _, event := range responses.Msg().GetEvents() {
			if event.GetType() == kubeconnectv1.EventType_EVENT_TYPE_RESET {
				r.Reset = cause
			}
			c.apply(event)
		}
		cause = openStream
		c.token = responses.Msg().GetResumeToken()
		if freshness := responses.Msg().GetFreshness(); freshness != nil {
			c.stale = freshness.GetStale()
		}
		r.Stale, r.Sum = c.stale, c.sum
		f.take(r)
	}
	return responses.Err()
}

func (c *copied) apply(event *kubeconnectv1.Event) {
	object := event.GetObject()
	switch event.GetType() {
	case kubeconnectv1.EventType_EVENT_TYPE_RESET:
		c.objects, c.sum = map[string]*kubeconnectv1.Object{}, 0
	case kubeconnectv1.EventType_EVENT_TYPE_ADDED, kubeconnectv1.EventType_EVENT_TYPE_MODIFIED:
		c.remove(object.GetName())
		c.objects[object.GetName()] = object
		c.sum += checksum(object.GetName(), object.GetResourceVersion())
	case kubeconnectv1.EventType_EVENT_TYPE_DELETED:
		if c.objects[object.GetName()].GetUid() == object.GetUid() {
			c.remove(object.GetName())
		}
	}
}

func (c *copied) remove(name string) {
	if object, ok := c.objects[name]; ok {
		c.sum -= checksum(name, object.GetResourceVersion())
		delete(c.objects, name)
	}
}

// checksum returns the checksum of one state of an object.
func checksum(name, version string) int64 {
	return int64(crc32.ChecksumIEEE([]byte(name + " " + version)))
}

// differing returns the number of streams whose objects are not those of the API server. It waits until
// there is none, or for a time.
func (l *lab) differing(ctx context.Context, f *fleet, patience time.Duration) (count int, err error) {
	all, err := l.api.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, fmt.Errorf("list the objects: %w", err)
	}
	sums := map[string]int64{}
	for _, object := range all.Items {
		sums[object.Namespace] += checksum(object.Name, object.ResourceVersion)
	}
	for until := time.Now().Add(patience); ; callers.Wait(ctx, 100*time.Millisecond) {
		streams := f.observed()
		count = 0
		for _, s := range streams {
			if s.sum != sums[namespaceOf(s.caller)] {
				count++
			}
		}
		if count == 0 || time.Now().After(until) || ctx.Err() != nil {
			return count, ctx.Err()
		}
	}
}
