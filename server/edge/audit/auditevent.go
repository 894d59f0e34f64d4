package audit

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect/v2"
	authnv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
	"github.com/kubeconnect/kubeconnect/server/edge/observe"
)

// occasion is what an event is about: a stage of a read of a call. It is a value.
type occasion struct {
	call  *call.Call
	trail *call.Trail // of the call, or of the part that reads
	entry *call.Entry // nil for an event about the request itself
	stage auditv1.Stage
	err   error // why the call or the part has ended
}

// user returns the caller; an empty identity if it is not known.
func (o occasion) user() auth.Identity {
	user := o.call.Record.Trail().Identity
	if user.IsKubeconfigUser() {
		user.Username = call.Everyone
	}
	return user
}

// about returns what the rules of a policy match.
func (o occasion) about() about {
	target, isResource := o.call.Record.Target()
	switch {
	case o.entry != nil:
		target = o.entry.Attributes
	case !isResource || o.trail.IsPart:
		target = auth.Attributes{Verb: strings.ToLower(o.call.Request.Method), Path: o.call.Record.Procedure}
	}
	return about{o.user(), target}
}

// line returns the event as JSON.
func (o occasion) line(of about) []byte {
	now, r := time.Now(), &o.call.Record
	event := auditv1.Event{
		TypeMeta:                 metav1.TypeMeta{APIVersion: auditv1.SchemeGroupVersion.String(), Kind: "Event"},
		Level:                    auditv1.LevelMetadata,
		AuditID:                  types.UID(r.ID),
		Stage:                    o.stage,
		RequestURI:               r.Procedure,
		Verb:                     of.Verb,
		User:                     userInfo(of.user),
		SourceIPs:                r.Trail().SourceIPs,
		UserAgent:                r.Trail().UserAgent,
		ResponseStatus:           o.status(),
		RequestReceivedTimestamp: metav1.NewMicroTime(r.Began),
		StageTimestamp:           metav1.NewMicroTime(now),
		Annotations:              o.annotations(of, now.Sub(r.Began)),
	}
	if of.Path == "" {
		event.ObjectRef = &auditv1.ObjectReference{
			APIGroup: of.Group, APIVersion: of.Version, Resource: of.Resource, Subresource: of.Subresource, Namespace: of.Namespace, Name: of.Name,
		}
	}
	line, err := json.Marshal(event)
	if err != nil {
		panic(err) // the event consists of texts, numbers and times
	}
	return line
}

func userInfo(identity auth.Identity) authnv1.UserInfo {
	user := authnv1.UserInfo{Username: identity.Username, UID: identity.UID, Groups: identity.Groups}
	if len(identity.Extra) > 0 {
		user.Extra = make(map[string]authnv1.ExtraValue, len(identity.Extra))
		for key, values := range identity.Extra {
			user.Extra[key] = values
		}
	}
	return user
}

// failure returns why the read has failed; nil if it has not. A stream that has begun does not fail when its client closes it, or
// when it is to continue at another replica.
func (o occasion) failure() error {
	switch {
	case o.entry != nil && o.entry.Err != nil:
		return callerrors.ConnectError(o.entry.Err)
	case o.err == nil || o.trail.HasSent() && observe.IsNormal(o.err):
		return nil
	}
	return callerrors.ConnectError(o.err)
}

// codesWithoutStatus are the HTTP codes of errors that have no Status.
var codesWithoutStatus = map[connect.Code]int32{
	connect.CodeCanceled:          499, // the client has closed the request
	connect.CodeInvalidArgument:   http.StatusBadRequest,
	connect.CodeDeadlineExceeded:  http.StatusGatewayTimeout,
	connect.CodeResourceExhausted: http.StatusTooManyRequests,
	connect.CodeUnimplemented:     http.StatusNotImplemented,
	connect.CodeUnavailable:       http.StatusServiceUnavailable,
}

// status returns the status of the response, without its message, which can quote contents.
func (o occasion) status() *metav1.Status {
	err := o.failure()
	switch {
	case err == nil && o.call.Record.Status == http.StatusNotModified:
		return &metav1.Status{Code: http.StatusNotModified}
	case err == nil:
		return &metav1.Status{Code: http.StatusOK}
	}
	status := &metav1.Status{
		Status: metav1.StatusFailure, Reason: metav1.StatusReason(callerrors.CutName(callerrors.ReasonOf(err))), Code: callerrors.StatusIn(err).GetCode(),
	}
	if status.Code == 0 {
		status.Code = codesWithoutStatus[connect.CodeOf(err)]
	}
	if status.Code == 0 {
		status.Code = http.StatusInternalServerError
	}
	return status
}

// The annotations of events. The first is that of the API server.
const (
	decisionKey = "authorization.k8s.io/decision"
	prefix      = "kubeconnect.dev/"
)

// The values of decisionKey.
const allow, forbid = "allow", "forbid"

// decision returns what was decided about a read or a change; empty if nothing was. The API server decides about changes, and about
// reads that are sent there: its response shows the decision, unless there is another error.
func (o occasion) decision(of about) string {
	switch {
	case of.Path != "":
		return ""
	case o.entry != nil && o.entry.IsForbidden():
		return forbid
	case o.entry != nil && o.entry.Err != nil:
		return ""
	case o.entry != nil && !o.entry.Forwarded, o.err == nil, o.trail.HasSent():
		return allow
	case connect.CodeOf(callerrors.ConnectError(o.err)) == connect.CodePermissionDenied:
		return forbid
	}
	return ""
}

// annotations has what events have no field for.
type annotations map[string]string

// set sets an annotation unless its value is empty.
func (a annotations) set(key, value string) {
	if value != "" {
		a[key] = value
	}
}

// setCount sets an annotation to a number unless it is 0.
func (a annotations) setCount(key string, count int64) {
	if count != 0 {
		a[key] = strconv.FormatInt(count, 10)
	}
}

// annotations returns the annotations of the event.
func (o occasion) annotations(of about, took time.Duration) annotations {
	a := annotations{}
	decision := o.decision(of)
	a.set(decisionKey, decision)
	if o.entry != nil {
		o.annotateRead(a, decision == allow)
	}
	resource, isDryRun := o.call.Record.Requested()
	if of.Path != "" {
		a.set(prefix+"resource", cmp.Or(o.trail.Named, resource))
	}
	if isDryRun {
		a.set(prefix+"dry-run", "true")
	}
	if o.stage == auditv1.StageResponseComplete {
		a.set(prefix+"latency", took.Round(time.Microsecond).String())
		if o.entry == nil || o.entry.First {
			a.setCount(prefix+"bytes", o.call.Record.BytesOf(o.trail))
			a.setCount(prefix+"omitted-reads", int64(o.trail.Omitted()))
		}
	}
	return a
}

// annotateRead sets what is known about a read: what it selects by, the namespaces that it covers if it is allowed, and at its end what
// it has returned.
func (o occasion) annotateRead(a annotations, isAllowed bool) {
	read := o.entry
	a.set(prefix+"label-selector", read.Selection.Labels)
	a.set(prefix+"field-selector", read.Selection.Fields)
	a.set(prefix+"filter", read.Selection.Filter)
	if isAllowed {
		namespaces, more := covered(read.Read)
		a.set(prefix+"namespaces", namespaces)
		a.setCount(prefix+"more-namespaces", int64(more))
	}
	if o.stage != auditv1.StageResponseComplete {
		return
	}
	objects := read.Objects
	if read.Verb == "get" && read.Subresource == "" && o.status().Code == http.StatusOK {
		objects = 1
	}
	a.setCount(prefix+"objects", objects)
	a.setCount(prefix+"events", read.Events)
}

// maxNamespacesBytes bounds the namespaces of an event.
const maxNamespacesBytes = 4 << 10

// covered returns the namespaces that a read covers, and the number of those that do not fit. All of them are "*", and a resource without
// namespaces covers none.
func covered(read call.Read) (namespaces string, more int) {
	switch {
	case !read.Namespaced:
		return "", 0
	case read.Namespace != "":
		return read.Namespace, 0
	case read.Scope.All:
		return "*", 0
	}
	fitting, size := 0, 0
	for _, name := range read.Scope.Names {
		if size += len(name) + 1; size > maxNamespacesBytes {
			break
		}
		fitting++
	}
	return strings.Join(read.Scope.Names[:fitting], ","), len(read.Scope.Names) - fitting
}
