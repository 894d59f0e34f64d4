package change

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Change is a parsed change.
type Change interface {
	// request returns the request of a REST client for the change at a target, without the target's
	// path.
	request(rest.Interface, Target) (*rest.Request, error)
}

// Create creates an object, or the object of a subresource that creates one.
type Create struct {
	Manifest Manifest
	Options  metav1.CreateOptions
}

func (c Create) request(client rest.Interface, at Target) (*rest.Request, error) {
	return c.Manifest.addTo(client.Post(), at, &c.Options)
}

// Update replaces an object or a subresource.
type Update struct {
	Manifest Manifest
	Options  metav1.UpdateOptions
}

func (u Update) request(client rest.Interface, at Target) (*rest.Request, error) {
	return u.Manifest.addTo(client.Put(), at, &u.Options)
}

// Patch changes some fields of an object.
type Patch struct {
	Kind    types.PatchType
	Body    []byte
	Options metav1.PatchOptions
}

func (p Patch) request(client rest.Interface, _ Target) (*rest.Request, error) {
	return client.Patch(p.Kind).VersionedParams(&p.Options, scheme.ParameterCodec).Body(p.Body), nil
}

// Delete deletes an object.
type Delete struct{ Options metav1.DeleteOptions }

func (d Delete) request(client rest.Interface, _ Target) (*rest.Request, error) {
	return deletion(client, d.Options)
}

// deletion returns a request with its options in JSON, which every API server accepts: those of
// aggregated APIs may not accept protobuf.
func deletion(client rest.Interface, options metav1.DeleteOptions) (*rest.Request, error) {
	options.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}
	body, err := json.Marshal(options)
	return client.Delete().SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body), err
}
