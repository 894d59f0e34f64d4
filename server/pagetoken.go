package server

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// A page token consists of: its format, see newestFormat; flags; a hash of the query; the served
// state, see servedAs; the namespaces that it covers; the hash of its objects, if their version
// does not determine them; the version of the list's position (informerhub.Position); the last
// object of the page; the rest of the position; the number of objects after the page; and a
// checksum. The flags say whether more objects may have been deleted at the version. No state is
// kept for a token, so any replica continues the list. A token contains no secret and needs none:
// it says where to continue, never what its bearer can read.
const (
	pageTokenFormat = 2
	queryBytes      = 16
)

// pageToken is the start of a page. It is a value.
type pageToken struct {
	query  string // see queryOf
	served string // see servedAs
	// namespaces are the namespaces that the list covers, if these are not all, and are few enough
	// for a token.
	namespaces string
	// objects is the hash of all objects of the list; empty if its version determines them.
	objects  string
	position informerhub.Position
	// incomplete reports that more of the objects may have been deleted at the position's version
	// than the first page has left out.
	incomplete bool
	left       uint64                 // number of objects that are left
	last       informerhub.ObjectName // the last object of the previous page
}

const incompleteFlag = 1

func (t pageToken) write() string {
	flags := byte(0)
	if t.incomplete {
		flags |= incompleteFlag
	}
	token := append([]byte{pageTokenFormat, flags}, t.query...)
	for _, text := range []string{t.served, t.namespaces, t.objects, t.position.Version, t.last.Namespace, t.last.Name} {
		token = appendText(token, text)
	}
	token = binary.BigEndian.AppendUint64(token, t.position.Epoch)
	token = binary.BigEndian.AppendUint64(token, uint64(t.position.Issued))
	token = binary.AppendUvarint(token, t.left)
	token = binary.BigEndian.AppendUint32(token, crc32.ChecksumIEEE(token))
	return base64.RawURLEncoding.EncodeToString(token)
}

var errPageToken = apierror.BadRequest("invalid page_token: truncated or modified; list from the first page")

// readPageToken parses the token of a request, which must be of the same query; see queryOf.
func readPageToken(token, query string) (t pageToken, err error) {
	if isOfNewerFormat(token) {
		return pageToken{}, errPageFormat
	}
	fields, ok := openToken(token, pageTokenFormat)
	if !ok || len(fields) < 1+queryBytes {
		return pageToken{}, errPageToken
	}
	t.incomplete = fields[0]&incompleteFlag != 0
	t.query, fields = string(fields[1:1+queryBytes]), fields[1+queryBytes:]
	for _, text := range []*string{&t.served, &t.namespaces, &t.objects, &t.position.Version, &t.last.Namespace, &t.last.Name} {
		if *text, fields, ok = cutText(fields); !ok {
			return pageToken{}, errPageToken
		}
	}
	if len(fields) < 16 || !areNamespaces(t.namespaces) {
		return pageToken{}, errPageToken
	}
	t.position.Epoch, t.position.Issued = binary.BigEndian.Uint64(fields), int64(binary.BigEndian.Uint64(fields[8:]))
	var length int
	if t.left, length = binary.Uvarint(fields[16:]); length != len(fields)-16 || t.objects == "" && !pinsObjects(t.position.Version) {
		return pageToken{}, errPageToken
	}
	if t.query != query {
		return pageToken{}, apierror.BadRequest("page_token belongs to another query: only page_size may differ between the pages of a list")
	}
	return t, nil
}

// pinsObjects reports whether a version determines the objects, so that the API server can be asked
// for it.
func pinsObjects(version string) bool { return object.IsVersion(version) && version != "0" }

// queryOf returns a hash of the fields that all pages of a list have in common.
// RequireAllNamespaces is left out, because it selects nothing.
func queryOf(request *kubeconnectv1.ListRequest) string {
	common := proto.CloneOf(request)
	common.PageSize, common.PageToken, common.RequireAllNamespaces = 0, "", false
	text, _ := proto.MarshalOptions{Deterministic: true}.Marshal(common)
	sum := sha256.Sum256(text)
	return string(sum[:queryBytes])
}

// maxNamespacesBytes bounds the namespaces in a token. A list with more can be continued as long as
// the caller can read the same namespaces.
const maxNamespacesBytes = 2 << 10

// namespacesIn returns the namespaces of a scope in the form of a token.
func namespacesIn(scope auth.Namespaces) string {
	if text := strings.Join(scope.Names, "/"); !scope.All && len(text) <= maxNamespacesBytes {
		return text
	}
	return ""
}

// areNamespaces reports whether text can be a result of namespacesIn.
func areNamespaces(text string) bool {
	names := strings.Split(text, "/")
	return len(text) <= maxNamespacesBytes && slices.IsSorted(names) && len(slices.Compact(names)) == strings.Count(text, "/")+1
}

// within returns the namespaces that the list covers, for a caller with the given scope now.
// Namespaces that were gained since the first page are left out. If some were lost, the list cannot
// be continued: see served.
func (t pageToken) within(scope auth.Namespaces, indivisible bool) auth.Namespaces {
	if t.namespaces == "" || indivisible {
		return scope
	}
	if began := (auth.Namespaces{Names: strings.Split(t.namespaces, "/")}); covers(scope, began) {
		return began
	}
	return scope
}

// keyFor returns the key under which a list is cached for the caller. The API server's response may
// depend on everything in a credential, so each credential of a user has its own lists.
func (t pageToken) keyFor(identity auth.Identity) string {
	caller := identity.Key()
	key := append(caller[:], t.query...)
	for _, text := range []string{t.served, t.namespaces, t.objects, t.position.Version} {
		key = appendText(key, text)
	}
	return string(binary.BigEndian.AppendUint64(key, t.position.Epoch))
}

var errPageFormat = apierrors.NewResourceExpired(
	"the list has expired: page_token has the format of a newer version of the service, such as during an upgrade; list again from the first page")
