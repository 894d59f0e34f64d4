package kubeapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/munnerz/goautoneg"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
)

// statusOf returns the Status of an error, as an API server sends it.
func statusOf(err error) metav1.Status {
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status := known.Status()
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		if status.Code == 0 {
			status.Code = codeOf(callerrors.StatusOf(err))
		}
		return status
	}
	of := callerrors.StatusOf(err)
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Reason: metav1.StatusReason(of.GetReason()), Message: of.GetMessage(), Code: codeOf(of),
	}
	if of.GetRetryAfterSeconds() > 0 || of.GetKind() != "" {
		status.Details = &metav1.StatusDetails{
			Group: of.GetGroup(), Kind: of.GetKind(), Name: of.GetName(), RetryAfterSeconds: of.GetRetryAfterSeconds(),
		}
	}
	return status
}

// codeOf returns the HTTP status of an error of the service.
func codeOf(status interface{ GetCode() int32 }) int32 {
	return cmp.Or(status.GetCode(), http.StatusInternalServerError)
}

// writeStatus writes an error as a Status, in protobuf if the client accepts that first.
func writeStatus(w http.ResponseWriter, r *http.Request, err error) {
	status := statusOf(err)
	w.Header().Set("Cache-Control", cacheControl)
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	if status.Code == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if status.Code == http.StatusForbidden {
		w.Header().Set("X-Content-Type-Options", "nosniff")
	}
	if acceptsProtobuf(r) {
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		w.WriteHeader(int(status.Code))
		_, _ = w.Write(statusMessage(status))
		return
	}
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status)
}

// acceptsProtobuf reports whether a client accepts a Status in protobuf first, among the forms of a Status.
func acceptsProtobuf(r *http.Request) bool {
	for _, clause := range goautoneg.ParseAccept(r.Header.Get("Accept")) {
		media := clause.Type + "/" + clause.SubType
		switch {
		case clause.Params["as"] != "":
		case media == runtime.ContentTypeProtobuf:
			return true
		case media == runtime.ContentTypeJSON, media == "application/*", media == "*/*":
			return false
		}
	}
	return false
}

// statusMessage returns a Status in protobuf.
func statusMessage(status metav1.Status) []byte {
	message, _ := status.Marshal() // never fails
	encoded := appendEnvelope(nil, schema.GroupVersionKind{Version: "v1", Kind: "Status"}, len(message))
	return append(append(encoded, message...), envelopeEnd...)
}

// expired returns the error for a version that this replica does not know any more.
func expired(version, oldest string) error {
	return apierrors.NewResourceExpired("too old resource version: " + version + " (" + oldest + ")")
}
