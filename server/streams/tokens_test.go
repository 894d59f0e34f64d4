package streams

import (
	"encoding/base64"
	"reflect"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/reads"
	"github.com/kubeconnect/kubeconnect/server/tokens"
)

func somePosition() informerhub.Position {
	return informerhub.Position{Version: "123456789012345678901234567890", Epoch: 1<<63 + 7, Issued: 1_790_000_000}
}

func somePositionInNamespaces() informerhub.Position {
	position := somePosition()
	later := informerhub.Position{
		Version: "123456789012345678901234567899", Deletion: informerhub.Deletion{Version: "123456789012345678901234567900", UID: "u1"},
		Unchecked: "7", Epoch: 9, Issued: 1_790_000_001,
	}
	position.Namespaces = []informerhub.NamespacePosition{
		{Namespace: "blog", Position: somePosition(), Through: position.Version},
		{Namespace: "shop", Position: later, Through: later.Version},
	}
	return position
}

func watchOf(change func(*kubeconnectv1.WatchRequest)) *kubeconnectv1.WatchRequest {
	request := &kubeconnectv1.WatchRequest{Resource: "deployments.apps", Namespace: "shop", LabelSelector: "app=web"}
	change(request)
	return request
}

// withFields returns a request for some fields.
func withFields(fields ...string) func(*kubeconnectv1.WatchRequest) {
	return func(r *kubeconnectv1.WatchRequest) { r.Fields = fields }
}

func unchanged(*kubeconnectv1.WatchRequest) {}

func TestToken_ReturnsItsPosition(t *testing.T) {
	token := tokensOf(servertest.Deployments, watchOf(unchanged)).Write(somePosition())
	for name, change := range map[string]func(*kubeconnectv1.WatchRequest){
		"of the same request":               unchanged,
		"with the resource spelled shorter": func(r *kubeconnectv1.WatchRequest) { r.Resource = "deploy" },
		"in another encoding":               func(r *kubeconnectv1.WatchRequest) { r.Encoding = kubeconnectv1.Encoding_ENCODING_JSON },
		"with the token itself":             func(r *kubeconnectv1.WatchRequest) { r.ResumeToken = token },
		"waiting for a version":             func(r *kubeconnectv1.WatchRequest) { r.MinResourceVersion = "5" },
	} {
		t.Run(name, func(t *testing.T) {
			position, err := tokensOf(servertest.Deployments, watchOf(change)).Read(token)
			if err != nil || position == nil || !reflect.DeepEqual(*position, somePosition()) {
				t.Errorf("resolves to %+v, %v", position, err)
			}
		})
	}
}

func TestToken_HasTheLastDeletionAndSinceWhenSomeCanBeMissing(t *testing.T) {
	want := somePosition()
	want.Deletion = informerhub.Deletion{Version: "300", UID: "0d6f5ba4-6b8c-4a3c-8a8b-5a5f6b9f1c11"}
	want.Unchecked = "200"
	for name, own := range map[string]tokens.Watch{
		"of objects": tokensOf(servertest.Deployments, watchOf(unchanged)),
		"of patches": tokensOf(servertest.Deployments, watchOf(func(r *kubeconnectv1.WatchRequest) { r.PatchFormat = kubeconnectv1.PatchFormat_PATCH_FORMAT_MERGE })),
	} {
		if position, err := own.Read(own.Write(want)); err != nil || position == nil || !reflect.DeepEqual(*position, want) {
			t.Errorf("%s: resolves to %+v, %v", name, position, err)
		}
	}
}

func TestToken_OrderOfFieldsDoesNotMatter(t *testing.T) {
	token := tokensOf(servertest.Deployments, watchOf(withFields("spec", "metadata.name"))).Write(somePosition())
	same := tokensOf(servertest.Deployments, watchOf(withFields("{.metadata.name}", "spec", "spec.replicas")))
	if position, err := same.Read(token); err != nil || position == nil {
		t.Errorf("resolves to %+v, %v", position, err)
	}
	other := tokensOf(servertest.Deployments, watchOf(withFields("spec", "metadata.labels")))
	if position, err := other.Read(token); !apierrors.IsBadRequest(err) {
		t.Errorf("other fields resolve to %+v, %v", position, err)
	}
}

func TestToken_OfAnotherWatchIsRejected(t *testing.T) {
	token := tokensOf(servertest.Deployments, watchOf(unchanged)).Write(somePosition())
	pods := informerhub.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}
	for name, other := range map[string]tokens.Watch{
		"of another resource":       tokensOf(pods, watchOf(unchanged)),
		"of another namespace":      tokensOf(servertest.Deployments, watchOf(func(r *kubeconnectv1.WatchRequest) { r.Namespace = "billing" })),
		"of all namespaces":         tokensOf(servertest.Deployments, watchOf(func(r *kubeconnectv1.WatchRequest) { r.Namespace = "" })),
		"of one name":               tokensOf(servertest.Deployments, watchOf(func(r *kubeconnectv1.WatchRequest) { r.Name = "web" })),
		"of another label selector": tokensOf(servertest.Deployments, watchOf(func(r *kubeconnectv1.WatchRequest) { r.LabelSelector = "app=api" })),
		"of some fields":            tokensOf(servertest.Deployments, watchOf(withFields("spec"))),
		"of a field selector":       tokensOf(servertest.Deployments, watchOf(func(r *kubeconnectv1.WatchRequest) { r.FieldSelector = "metadata.name=web" })),
	} {
		t.Run(name, func(t *testing.T) {
			if position, err := other.Read(token); !apierrors.IsBadRequest(err) {
				t.Errorf("resolves to %+v, %v", position, err)
			}
		})
	}
}

func TestToken_TruncatedOrChangedIsRejected(t *testing.T) {
	own := tokensOf(servertest.Deployments, watchOf(unchanged))
	token := own.Write(somePosition())
	for end := 1; end < len(token); end++ {
		if position, err := own.Read(token[:end]); !apierrors.IsBadRequest(err) {
			t.Errorf("cut after %d letters it resolves to %+v, %v", end, position, err)
		}
	}
	for _, lineBreak := range []string{"\n", "\r\n"} {
		broken := token[:len(token)/2] + lineBreak + token[len(token)/2:]
		if position, err := own.Read(broken); !apierrors.IsBadRequest(err) {
			t.Errorf("with %q in it it resolves to %+v, %v", lineBreak, position, err)
		}
	}
	bytes, _ := base64.RawURLEncoding.DecodeString(token)
	for i := range bytes {
		if i == 0 {
			continue // another format, which a newer version can have
		}
		bytes[i] ^= 0x10
		if position, err := own.Read(base64.RawURLEncoding.EncodeToString(bytes)); !apierrors.IsBadRequest(err) {
			t.Errorf("with byte %d changed it resolves to %+v, %v", i, position, err)
		}
		bytes[i] ^= 0x10
	}
}

func TestToken_EmptyOrOfAnotherAPIVersionHasNoPosition(t *testing.T) {
	own := tokensOf(servertest.Deployments, watchOf(unchanged))
	older := servertest.Deployments
	older.Version = "v1beta2"
	for name, token := range map[string]string{
		"without a token":        "",
		"in another API version": tokensOf(older, watchOf(unchanged)).Write(somePosition()),
	} {
		t.Run(name, func(t *testing.T) {
			if position, err := own.Read(token); err != nil || position != nil {
				t.Errorf("resolves to %+v, %v", position, err)
			}
		})
	}
}

// FuzzResumeToken verifies that the only valid encoding of a position is the one that was written:
// all other tokens are rejected.
func FuzzResumeToken(f *testing.F) {
	own := tokensOf(servertest.Deployments, watchOf(unchanged))
	f.Add(own.Write(somePosition()))
	deleting := somePosition()
	deleting.Deletion = informerhub.Deletion{Version: "300", UID: "uid"}
	f.Add(own.Write(deleting))
	unchecked := somePosition()
	unchecked.Unchecked = "200"
	f.Add(own.Write(unchecked))
	f.Add("")
	f.Add("AdM5-faHri3JAnYx")
	f.Add(own.Write(somePosition()) + "\n")
	f.Fuzz(func(t *testing.T, token string) {
		position, err := own.Read(token)
		switch {
		case err != nil && !apierrors.IsBadRequest(err):
			t.Errorf("returned %v", err)
		case err == nil && position == nil && token != "" && !tokens.IsOfNewerFormat(token):
			t.Errorf("%q is taken as no token", token)
		case err == nil && position != nil && len(own.Write(*position)) != len(token):
			t.Errorf("%q resolves to %+v", token, position)
		}
	})
}

// tokensOf returns the tokens of a valid request.
func tokensOf(resource informerhub.Resource, request *kubeconnectv1.WatchRequest) tokens.Watch {
	params, err := ParseWatch(request)
	if err != nil {
		panic(err)
	}
	return new(Watches).tokensFor(resource, params, reads.Relation{})
}

func TestToken_IsBoundToItsRelation(t *testing.T) {
	request := watchOf(func(r *kubeconnectv1.WatchRequest) {
		r.Related = &kubeconnectv1.Relation{Type: kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, Resource: "rs", Name: "web"}
	})
	of := func(asked, owner string) tokens.Watch {
		return tokensOf(servertest.Deployments, request).RelatedBy(reads.Relation{Requested: &reads.RelationParams{Name: asked}, Related: informerhub.Related{Owner: owner}}.Texts())
	}
	token := of("web", "u1").Write(somePosition())
	if position, err := of("web", "u1").Read(token); err != nil || position == nil {
		t.Errorf("of the same: resolves to %v, %v", position, err)
	}
	if position, err := of("web", "u2").Read(token); err != nil || position != nil {
		t.Errorf("of another owner of its name: resolves to %v, %v", position, err)
	}
	if _, err := of("db", "u1").Read(token); !apierrors.IsBadRequest(err) {
		t.Errorf("of another name: %v", err)
	}
	if _, err := tokensOf(servertest.Deployments, watchOf(unchanged)).Read(token); !apierrors.IsBadRequest(err) {
		t.Errorf("of no relation: %v", err)
	}
}
