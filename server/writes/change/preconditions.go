package change

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// WithPreconditions returns the patch with preconditions. The API server has none for patches, but
// rejects a patch whose result has another resource version or UID than the object.
func (p Patch) WithPreconditions(required *metav1.Preconditions) (Patch, error) {
	if required == nil {
		return p, nil
	}
	var err error
	switch {
	case p.Kind == types.JSONPatchType:
		p.Body, err = withOperations(p.Body, required)
		return p, err
	case !utilyaml.IsJSONBuffer(p.Body):
		if p.Body, err = yaml.YAMLToJSONStrict(p.Body); err != nil {
			return p, apierror.BadRequest("data is not YAML: %v", err)
		}
	}
	m, err := parseJSON("the patch", p.Body)
	if err == nil {
		m, err = m.WithPreconditions(required)
	}
	p.Body = m.body
	return p, err
}

// withOperations appends operations to a JSON patch that set the resource version and the UID of
// its result.
func withOperations(text []byte, required *metav1.Preconditions) ([]byte, error) {
	var operations []json.RawMessage
	if err := json.Unmarshal(text, &operations); err != nil {
		return nil, apierror.BadRequest("a JSON patch is a list of operations: %v", err)
	}
	for path, value := range map[string]*string{"uid": (*string)(required.UID), "resourceVersion": required.ResourceVersion} {
		if value == nil {
			continue
		}
		operations = append(operations, fmt.Appendf(nil, `{"op":"add","path":"/metadata/%s","value":%s}`, path, quoted(*value)))
	}
	return json.Marshal(operations)
}

// MapUIDConflict replaces the error for an object with another UID than the required one. The API
// server's own message is about its storage, or that a UID cannot be changed. API servers of Kubernetes 1.33
// return it also for an update of an object that does not exist.
func MapUIDConflict(err error, dest Target, required *metav1.Preconditions) error {
	var failed *apierrors.StatusError
	if required == nil || required.UID == nil || !errors.As(err, &failed) || !isAboutUID(failed.ErrStatus) {
		return err
	}
	if strings.HasSuffix(failed.ErrStatus.Message, "UID in object meta: ") && !(Update{}).creates(dest) {
		return apierrors.NewNotFound(dest.Resource.GroupResource(), dest.Name)
	}
	return apierrors.NewConflict(dest.Resource.GroupResource(), dest.Name,
		fmt.Errorf("its UID is not %s, as the precondition requires", *required.UID))
}

func isAboutUID(status metav1.Status) bool {
	switch {
	case status.Reason == metav1.StatusReasonConflict:
		return strings.Contains(status.Message, "UID in precondition") || strings.Contains(status.Message, "uid mismatch: ")
	case status.Reason == metav1.StatusReasonInvalid && status.Details != nil:
		return slices.ContainsFunc(status.Details.Causes, func(cause metav1.StatusCause) bool { return cause.Field == "metadata.uid" })
	}
	return false
}
