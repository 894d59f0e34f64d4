package call

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
	"github.com/kubeconnect/kubeconnect/server/edge/bounds"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
)

// Read is one resource that a call reads, as permissions are asked for it: a list with a join is two reads.
type Read struct {
	auth.Attributes
	Selection  Selection
	Namespaced bool            // whether the resource has namespaces
	Scope      auth.Namespaces // what the caller can read of it; none after an error
	Err        error           // why the caller cannot read it; nil if it can
	// Forwarded reports whether the API server decides, because the read is sent there as the caller. Err is
	// then nil.
	Forwarded bool
}

// Selection is what a read selects by, as the request has it.
type Selection struct{ Labels, Fields, Filter string }

// maxSelectionBytes bounds each part of a selection that is noted.
const maxSelectionBytes = 1 << 10

// noted returns the selection, shortened, without the memory of the rest.
func (s Selection) noted() Selection {
	for _, text := range []*string{&s.Labels, &s.Fields, &s.Filter} {
		*text = strings.Clone(callerrors.Cut(*text, maxSelectionBytes))
	}
	return s
}

// IsForbidden reports whether the caller has no permission for the read.
func (r Read) IsForbidden() bool { return apierrors.IsForbidden(r.Err) }

// Entry is a read of a trail.
type Entry struct {
	Read
	// First reports whether the read is what the request is about. The others are of related objects, and of logs.
	First bool
	// Objects is the number of objects that were returned or counted, and Events that of the events of a watch.
	Objects, Events int64
	stage           stage
}

// stage is what the audit log has of a read.
type stage int

const (
	unwritten stage = iota
	begun           // its beginning, with the present scope
	ended           // its end
)

// maxEntries bounds the reads of a trail. A page has fewer joins and kinds of owners than that.
const maxEntries = 100

// Trail is what the audit log has of a call, or of a part of it, in addition to its record: what is read. Its
// methods are safe for concurrent use. A nil trail, of a call that is not audited, notes nothing.
type Trail struct {
	// Set once. The fields are only for the trail of a whole call.
	UserAgent string
	SourceIPs []string
	Identity  auth.Identity // of the caller; zero until it is authenticated

	// Set once, before other goroutines work on the call.
	IsPart bool
	Named  string // the resource of a part, as the request names it
	parts  []*Trail

	bytes   atomic.Int64 // of a part; those of a call are in its record
	due     atomic.Bool  // Due has something to return
	hasSent atomic.Bool

	mu      sync.Mutex // guards the fields below
	entries []*Entry   // in the order in which they were noted, so that the first is what the request is about
	omitted int        // reads above maxEntries
	end     error      // why the part has ended before its call; see NotePartEnd
	hasEnd  bool
}

// Audit makes the call note what it reads, on a trail.
func (r *Record) Audit(trail *Trail) { r.trail = trail }

// Identify records the caller, when it is authenticated.
func (r *Record) Identify(identity auth.Identity) {
	r.Caller = identity.Username
	if r.trail != nil {
		r.trail.Identity = identity
	}
}

// verbs are the verbs of procedures that are about one resource.
var verbs = map[string]string{
	kubeconnectv1connect.ResourceServiceGetProcedure:              "get",
	kubeconnectv1connect.ResourceServiceListProcedure:             "list",
	kubeconnectv1connect.ResourceServiceCountProcedure:            "list",
	kubeconnectv1connect.ResourceServiceGetTableProcedure:         "list",
	kubeconnectv1connect.ResourceServiceWatchProcedure:            "watch",
	kubeconnectv1connect.ResourceServiceWatchCountsProcedure:      "watch",
	kubeconnectv1connect.ResourceServiceCreateProcedure:           "create",
	kubeconnectv1connect.ResourceServiceUpdateProcedure:           "update",
	kubeconnectv1connect.ResourceServicePatchProcedure:            "patch",
	kubeconnectv1connect.ResourceServiceDeleteProcedure:           "delete",
	kubeconnectv1connect.ResourceServiceDeleteCollectionProcedure: "deletecollection",
}

// kubernetesVerbs are the verbs of Kubernetes' own API, whose procedures end with them.
var kubernetesVerbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

// verbOf returns the verb of a procedure; empty if it is about no resource.
func verbOf(procedure string) string {
	verb, isKubernetes := strings.CutPrefix(procedure, bounds.Kubernetes)
	switch {
	case !isKubernetes:
		return verbs[procedure]
	case slices.Contains(kubernetesVerbs, verb):
		return verb
	}
	return ""
}

// Target returns what the request is about, as the API server would be asked for it; false if that is no
// resource, several, or not known. It is for changes, and for reads that end before a permission is decided.
func (r *Record) Target() (target auth.Attributes, ok bool) {
	resource, rest, isServed := strings.Cut(r.servedResource(), ".")
	verb := verbOf(r.Procedure)
	if verb == "" || !isServed {
		return auth.Attributes{}, false
	}
	version, group, _ := strings.Cut(rest, ".")
	of := r.subjectOf()
	return auth.Attributes{
		Verb: verb, Group: group, Version: version, Resource: resource, Subresource: of.subresource,
		Namespace: of.namespace, Name: of.name,
	}, true
}

// Requested returns the resource as the request names it, and whether the request is a dry run.
func (r *Record) Requested() (resource string, isDryRun bool) {
	of := r.subjectOf()
	return of.resource, of.dryRun
}

// Trail returns the trail of the call; nil if it is not audited.
func (r *Record) Trail() *Trail { return r.trail }

// Parts returns the trails of the parts of a call, when they have ended.
func (t *Trail) Parts() []*Trail { return t.parts }

// Sending returns the trail of the part that sends, or of the call if it has none. The sender calls it.
func (r *Record) Sending() *Trail {
	if r.sending != nil {
		return r.sending.trail
	}
	return r.trail
}

// BytesOf returns the bytes that were sent of what a trail is about.
func (r *Record) BytesOf(t *Trail) int64 {
	if t == r.trail {
		return r.bytes.Load()
	}
	return t.bytes.Load()
}

// part returns a trail for a part of the call.
func (t *Trail) part(resource string) *Trail {
	if t == nil {
		return nil
	}
	part := &Trail{IsPart: true, Named: noted(resource)}
	t.parts = append(t.parts, part)
	return part
}

// trailOf returns the trail of the part or the call of a context; nil if it is not audited.
func trailOf(ctx context.Context) *Trail {
	if part, ok := ctx.Value(partKey{}).(*part); ok {
		return part.trail
	}
	if c := From(ctx); c != nil {
		return c.Record.trail
	}
	return nil
}

// IsAudited reports whether the reads of a call are noted.
func IsAudited(ctx context.Context) bool { return trailOf(ctx) != nil }

// NoteRead records what was decided about a read. A stream decides again and again: then the read has the last
// decision. It can be called concurrently.
func NoteRead(ctx context.Context, read Read) {
	if t := trailOf(ctx); t != nil {
		t.note(read)
	}
}

func (t *Trail) note(read Read) {
	t.mu.Lock()
	defer t.mu.Unlock()
	read.Namespace, read.Name = callerrors.CutName(read.Namespace), callerrors.CutName(read.Name)
	entry := t.findLocked(func(known *Entry) bool { return known.Attributes == read.Attributes })
	switch {
	case entry == nil && len(t.entries) == maxEntries:
		t.omitted++
		return
	case entry == nil:
		read.Selection = read.Selection.noted()
		t.entries = append(t.entries, &Entry{Read: read, First: len(t.entries) == 0})
	case read.Err != nil && !read.IsForbidden():
		return // nothing was decided: the decision before holds until it is lost
	case (read.Err == nil) == (entry.Err == nil) && read.Scope.Equal(entry.Scope):
		entry.Forwarded = read.Forwarded
		return
	default:
		entry.Scope, entry.Err, entry.Forwarded, entry.stage = read.Scope, read.Err, read.Forwarded, unwritten
	}
	t.due.Store(true)
}

// findLocked returns the last entry that a function accepts; nil if there is none.
func (t *Trail) findLocked(accepts func(*Entry) bool) *Entry {
	for i := len(t.entries) - 1; i >= 0; i-- {
		if accepts(t.entries[i]) {
			return t.entries[i]
		}
	}
	return nil
}

// count changes the numbers of the read that the request is about.
func (t *Trail) count(change func(first *Entry)) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.entries) > 0 {
		change(t.entries[0])
	}
}

// add adds to the objects in responses, or to the events of a watch.
func (t *Trail) add(objects int) {
	t.count(func(first *Entry) {
		if first.Verb == "watch" {
			first.Events += int64(objects)
		} else {
			first.Objects += int64(objects)
		}
	})
}

// NoteCounted records how many objects a response is computed from, if it does not have them as objects. It
// replaces the number before. It can be called concurrently.
func NoteCounted(ctx context.Context, objects int) {
	trailOf(ctx).count(func(first *Entry) { first.Objects = int64(objects) })
}

// NoteJoined adds to the number of objects of a resource that were related to those of the response. It can be
// called concurrently.
func NoteJoined(ctx context.Context, resource schema.GroupResource, objects int) {
	t := trailOf(ctx)
	if t == nil || objects == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	joined := t.findLocked(func(known *Entry) bool {
		return known.Verb == "list" && known.Group == resource.Group && known.Resource == resource.Resource
	})
	if joined != nil {
		joined.Objects += int64(objects)
	}
}

// NotePartEnd records why a part ends while its call continues. It is called before the last message of the part.
func NotePartEnd(ctx context.Context, err error) {
	t := trailOf(ctx)
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end, t.hasEnd = err, true
	t.due.Store(true)
}

// Due returns what must be in the audit log before the next message of a stream is sent: the reads that have begun or
// changed since the last message, and those that have ended.
func (t *Trail) Due() (begins, ends []Entry) {
	t.hasSent.Store(true)
	if !t.due.Swap(false) {
		return nil, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, entry := range t.entries {
		switch {
		case entry.stage == ended:
		case t.hasEnd, entry.Err != nil:
			ends = append(ends, entry.endLocked())
		case entry.stage == unwritten:
			entry.stage = begun
			begins = append(begins, *entry)
		}
	}
	return begins, ends
}

// End returns the reads that have not ended.
func (t *Trail) End() (ends []Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, entry := range t.entries {
		if entry.stage != ended {
			ends = append(ends, entry.endLocked())
		}
	}
	return ends
}

// endLocked returns the entry as it is when it ends.
func (e *Entry) endLocked() Entry {
	was := *e
	e.stage = ended
	return was
}

// HasSent reports whether a message of a stream was sent.
func (t *Trail) HasSent() bool { return t.hasSent.Load() }

// IsEmpty reports whether nothing was read.
func (t *Trail) IsEmpty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.entries) == 0
}

// Omitted returns the number of reads that are on no trail because there are too many.
func (t *Trail) Omitted() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.omitted
}

// EndOf returns why what a trail is about has ended: the part, or the call with the given error.
func (t *Trail) EndOf(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hasEnd {
		return t.end
	}
	return err
}
