package change

import (
	"context"
	"encoding/json"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// DeleteCollection deletes all matching objects of a collection.
type DeleteCollection struct {
	Options  metav1.DeleteOptions
	Matching metav1.ListOptions
}

// DeleteCollection deletes a collection, and returns the number of objects and the API server's
// warnings. The response has all of the objects: it is requested without their contents, and counted
// while it is read. The errors are those of [Writer.Do].
func (w Writer) DeleteCollection(ctx context.Context, dest Target, change DeleteCollection) (deleted int, warnings []string, err error) {
	request, err := deletion(w.Clients.Typed.CoreV1().RESTClient(), change.Options)
	if err != nil {
		return 0, nil, err
	}
	if w.Sends != nil {
		w.Sends()
	}
	var texts warningTexts
	request = dest.addTo(request).VersionedParams(&change.Matching, scheme.ParameterCodec).WarningHandler(&texts)
	ctx, outcome := WithOutcome(ctx)
	response, err := object.RequestMetadataAsJSON(request, object.PartialListKind).Stream(ctx)
	if err != nil {
		return 0, nil, clarified(outcome.Complete(apierror.Unavailable(ctx, err)), dest, nil)
	}
	defer response.Close()
	if deleted, err = countItems(response); err != nil {
		err = apierror.Unavailable(ctx, err)
	}
	return deleted, texts, err
}

// warningTexts collects the warnings of a response.
type warningTexts []string

// HandleWarningHeader implements rest.WarningHandler.
func (w *warningTexts) HandleWarningHeader(code int, _, text string) {
	if code == 299 && text != "" {
		*w = append(*w, text)
	}
}

var _ rest.WarningHandler = (*warningTexts)(nil)

// countItems returns the number of items of a list in JSON; 0 for another object.
func countItems(list io.Reader) (count int, err error) {
	in := json.NewDecoder(list)
	if _, err := in.Token(); err != nil {
		return 0, err
	}
	for in.More() {
		member, err := in.Token()
		if err != nil {
			return 0, err
		}
		if member != "items" {
			if err := in.Decode(&skipped{}); err != nil {
				return 0, err
			}
			continue
		}
		if opening, err := in.Token(); err != nil || opening != json.Delim('[') {
			return 0, err // null
		}
		for ; in.More(); count++ {
			if err := in.Decode(&skipped{}); err != nil {
				return 0, err
			}
		}
		_, err = in.Token() // the end of the list
		return count, err
	}
	return 0, nil
}

// skipped is a value that is read and not kept.
type skipped struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*skipped) UnmarshalJSON([]byte) error { return nil }
