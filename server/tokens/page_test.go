package tokens

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"reflect"
	"slices"
	"strings"
	"testing"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// aToken is a token with a value in each field.
func aToken(request *kubeconnectv1.ListRequest) Page {
	return Page{
		Query: QueryOf(request), Served: "v1", Namespaces: "a/b", Objects: "hash", Incomplete: true, Left: 300,
		Position: informerhub.Position{Version: "100", Epoch: 7, Issued: 8}, Last: informerhub.ObjectName{Namespace: "a", Name: "x"},
	}
}

// ofNamespaces returns the token with positions in two namespaces.
func ofNamespaces(token Page) Page {
	token.Position.Namespaces = []informerhub.NamespacePosition{
		{Namespace: "a", Position: informerhub.Position{Version: "100", Epoch: 1, Issued: 8}, Through: "100"},
		{Namespace: "b", Position: informerhub.Position{Version: "120", Unchecked: "90", Deletion: informerhub.Deletion{Version: "121", UID: "u"}, Epoch: 2, Issued: 9}, Through: "120"},
	}
	return token
}

func TestPageToken_IsReadAsItWasWritten(t *testing.T) {
	request := &kubeconnectv1.ListRequest{Resource: "pods"}
	for name, token := range map[string]Page{
		"with everything": aToken(request),
		"of namespaces":   ofNamespaces(aToken(request)),
		"with little":     {Query: QueryOf(request), Position: informerhub.Position{Version: "1"}},
	} {
		request.PageToken = token.Write()
		if read, err := ReadPage(request.GetPageToken(), QueryOf(request)); err != nil || !reflect.DeepEqual(read, token) {
			t.Errorf("%s: it is read as %v, %v", name, read, err)
		}
	}
}

func TestPageToken_ForgedOnesAreRejected(t *testing.T) {
	request := &kubeconnectv1.ListRequest{Resource: "pods"}
	token := aToken(request)
	decoded, err := base64.RawURLEncoding.DecodeString(token.Write())
	if err != nil {
		t.Fatal(err)
	}
	forge := func(fields []byte) string {
		return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(fields, crc32.ChecksumIEEE(fields)))
	}
	whole := slices.Clone(decoded[:len(decoded)-checksumBytes])
	unpinned := token
	unpinned.Objects, unpinned.Position.Version = "", "x"
	for name, forged := range map[string]string{
		"no base64":                    "!" + token.Write(),
		"nothing":                      "AAAA",
		"cut":                          token.Write()[:40],
		"changed":                      strings.Replace(token.Write(), token.Write()[40:44], "____", 1),
		"cut, with a checksum":         forge(slices.Clone(whole[:30])),
		"longer":                       forge(append(slices.Clone(whole), 1)),
		"a number beyond 64 bits":      forge(append(slices.Clone(whole[:len(whole)-2]), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f)),
		"a text that is too long":      forge(append(slices.Clone(whole[:2+HashBytes]), 0xff, 0xff, 0xff, 0xff, 0x7f)),
		"a version that says nothing":  unpinned.Write(),
		"a resume token":               Watch{selection: make([]byte, selectionBytes)}.Write(token.Position),
		"another query":                aToken(&kubeconnectv1.ListRequest{Resource: "nodes"}).Write(),
		"the same one after its start": "AA" + aToken(request).Write(),
	} {
		request.PageToken = forged
		if _, err := ReadPage(request.GetPageToken(), QueryOf(request)); !apierrors.IsBadRequest(err) {
			t.Errorf("%s: returned %v", name, err)
		}
	}
}

func TestQueryOf_ExcludesThePage(t *testing.T) {
	query := QueryOf(&kubeconnectv1.ListRequest{Resource: "pods", LabelSelector: "a=b"})
	if again := QueryOf(&kubeconnectv1.ListRequest{Resource: "pods", LabelSelector: "a=b", PageSize: 5, PageToken: "x"}); again != query {
		t.Error("the page is part of it")
	}
	for _, other := range []*kubeconnectv1.ListRequest{
		{Resource: "pods"}, {Resource: "nodes", LabelSelector: "a=b"}, {Resource: "pods", LabelSelector: "a=b", Namespace: "x"},
		{Resource: "pods", LabelSelector: "a=b", Encoding: kubeconnectv1.Encoding_ENCODING_JSON}, {Resource: "pods", FieldSelector: "a=b"},
	} {
		if QueryOf(other) == query {
			t.Errorf("%v is treated as equal", other)
		}
	}
}

// FuzzPageToken verifies that a token is rejected, or is the only encoding of its content.
func FuzzPageToken(f *testing.F) {
	request := &kubeconnectv1.ListRequest{Resource: "pods"}
	f.Add(aToken(request).Write())
	f.Add("")
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := ReadPage(text, QueryOf(&kubeconnectv1.ListRequest{Resource: "pods"}))
		switch {
		case err == nil && token.Write() != text:
			t.Errorf("%v is encoded differently", token)
		case err != nil && !apierrors.IsBadRequest(err) && (!IsOfNewerFormat(text) || !apierrors.IsResourceExpired(err)):
			t.Errorf("returned %v", err)
		}
	})
}
