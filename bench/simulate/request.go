package simulate

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// request is a list or a watch of pods.
type request struct {
	options  metav1.ListOptions
	version  uint64 // of the options; 0 if they have none
	selected span
	template template
	metadata bool
}

// versionTimeout is the time for which an API server waits until it has reached a version.
const versionTimeout = 3 * time.Second

// parse reads a list or watch. The error is for the caller.
func (h *Handler) parse(r *http.Request) (request, error) {
	parsed := request{selected: h.pods.spanOf(r.PathValue("namespace"))}
	err := scheme.ParameterCodec.DecodeParameters(r.URL.Query(), corev1.SchemeGroupVersion, &parsed.options)
	switch {
	case err != nil:
		return request{}, apierrors.NewBadRequest(err.Error())
	case parsed.options.LabelSelector != "" || parsed.options.FieldSelector != "" || parsed.options.ShardSelector != "":
		return request{}, apierrors.NewBadRequest("the simulated API server has no selectors: list all pods or those of a namespace")
	}
	if parsed.version, err = parseVersion(parsed.options.ResourceVersion); err != nil {
		return request{}, err
	}
	parsed.metadata = strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
	parsed.template, err = h.templateFor(r.Header.Get("Accept"), parsed.metadata)
	return parsed, err
}

func parseVersion(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest("invalid resource version " + strconv.Quote(text))
	}
	return version, nil
}

// templateFor returns the template of the first media type of an Accept header that is supported.
func (h *Handler) templateFor(accept string, metadata bool) (template, error) {
	for part := range strings.SplitSeq(accept+",", ",") {
		media, _, _ := strings.Cut(part, ";")
		switch strings.TrimSpace(media) {
		case runtime.ContentTypeProtobuf:
			return h.templates[templateKey{true, metadata}], nil
		case runtime.ContentTypeJSON, "*/*", "":
			return h.templates[templateKey{false, metadata}], nil
		}
	}
	return template{}, &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable,
		Message: fmt.Sprintf("no media type of %q is supported: use %s", accept, runtime.ContentTypeProtobuf),
	}}
}

// reach waits until the pods have reached the version of a request.
func (h *Handler) reach(r *http.Request, version uint64) error {
	if h.pods.await(r.Context(), version, versionTimeout) {
		return nil
	}
	return apierrors.NewTimeoutError("Too large resource version", 1)
}

// asStatus converts an error to one that an API server returns.
func asStatus(err error) metav1.Status {
	if errors.Is(err, ErrExpired) {
		err = apierrors.NewResourceExpired(err.Error())
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		status = apierrors.NewInternalError(err)
	}
	result := status.Status()
	result.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return result
}
