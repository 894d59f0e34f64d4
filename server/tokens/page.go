package tokens

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
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// A page token consists of: its format, see NewestFormat; flags; a hash of the query; the served
// state, see ServedAs; the namespaces that it covers; the hash of its objects, if their version
// does not determine them; the version of the list's position (informerhub.Position); the last
// object of the page; the rest of the position; the number of objects after the page; and a
// checksum. The flags say whether more objects may have been deleted at the version. No state is
// kept for a token, so any replica continues the list. A token contains no secret and needs none:
// it says where to continue, never what its bearer can read.
const (
	pageTokenFormat = 2
	HashBytes       = 16
)

// Page is the start of a page. It is a value.
type Page struct {
	Query  string // see QueryOf
	Served string // see ServedAs
	// Namespaces are the namespaces that the list covers, if these are not all, and are few enough
	// for a token.
	Namespaces string
	// Objects is the hash of all objects of the list; empty if its version determines them.
	Objects  string
	Position informerhub.Position
	// Incomplete reports that more of the objects may have been deleted at the position's version
	// than the first page has left out.
	Incomplete bool
	Left       uint64                 // number of objects that are left
	Last       informerhub.ObjectName // the last object of the previous page
}

const incompleteFlag = 1

func (t Page) Write() string {
	flags := byte(0)
	if t.Incomplete {
		flags |= incompleteFlag
	}
	format := byte(pageTokenFormat)
	if t.Position.Namespaces != nil {
		format = namespacesFormat
	}
	token := append([]byte{format, flags}, t.Query...)
	for _, text := range []string{t.Served, t.Namespaces, t.Objects, t.Position.Version, t.Last.Namespace, t.Last.Name} {
		token = AppendText(token, text)
	}
	token = binary.BigEndian.AppendUint64(token, t.Position.Epoch)
	token = binary.BigEndian.AppendUint64(token, uint64(t.Position.Issued))
	token = binary.AppendUvarint(token, t.Left)
	token = appendPositions(token, t.Position.Namespaces)
	token = binary.BigEndian.AppendUint32(token, crc32.ChecksumIEEE(token))
	return base64.RawURLEncoding.EncodeToString(token)
}

var errPageToken = apierror.BadRequest("invalid page_token: truncated or modified; list from the first page")

// ReadPage parses the token of a request, which must be of the same query; see QueryOf.
func ReadPage(token, query string) (t Page, err error) {
	if IsOfNewerFormat(token) {
		return Page{}, errPageFormat
	}
	fields, format, ok := openTokenOf(token, pageTokenFormat)
	if !ok || len(fields) < 1+HashBytes {
		return Page{}, errPageToken
	}
	t.Incomplete = fields[0]&incompleteFlag != 0
	t.Query, fields = string(fields[1:1+HashBytes]), fields[1+HashBytes:]
	for _, text := range []*string{&t.Served, &t.Namespaces, &t.Objects, &t.Position.Version, &t.Last.Namespace, &t.Last.Name} {
		if *text, fields, ok = cutText(fields); !ok {
			return Page{}, errPageToken
		}
	}
	if len(fields) < 16 || !areNamespaces(t.Namespaces) {
		return Page{}, errPageToken
	}
	t.Position.Epoch, t.Position.Issued = binary.BigEndian.Uint64(fields), int64(binary.BigEndian.Uint64(fields[8:]))
	left, length := binary.Uvarint(fields[16:])
	if length <= 0 {
		return Page{}, errPageToken
	}
	t.Left, fields = left, fields[16+length:]
	if format == namespacesFormat {
		if t.Position.Namespaces, fields, ok = cutPositions(fields); !ok {
			return Page{}, errPageToken
		}
	}
	if len(fields) > 0 || t.Objects == "" && !PinsObjects(t.Position.Version) {
		return Page{}, errPageToken
	}
	if t.Query != query {
		return Page{}, apierror.BadRequest("page_token belongs to another query: only page_size may differ between the pages of a list")
	}
	return t, nil
}

// PinsObjects reports whether a version determines the objects, so that the API server can be asked
// for it.
func PinsObjects(version string) bool { return object.IsVersion(version) && version != "0" }

// QueryOf returns a hash of the fields that all pages of a list have in common.
// RequireAllNamespaces is left out, because it selects nothing.
func QueryOf(request *kubeconnectv1.ListRequest) string {
	common := proto.CloneOf(request)
	common.PageSize, common.PageToken, common.RequireAllNamespaces = 0, "", false
	text, _ := proto.MarshalOptions{Deterministic: true}.Marshal(common)
	sum := sha256.Sum256(text)
	return string(sum[:HashBytes])
}

// maxNamespacesBytes bounds the namespaces in a token. A list with more can be continued as long as
// the caller can read the same namespaces.
const maxNamespacesBytes = 2 << 10

// Namespaces returns the namespaces of a scope in the form of a token.
func Namespaces(scope auth.Namespaces) string {
	if text := strings.Join(scope.Names, "/"); !scope.All && len(text) <= maxNamespacesBytes {
		return text
	}
	return ""
}

// areNamespaces reports whether text can be a result of Namespaces.
func areNamespaces(text string) bool {
	names := strings.Split(text, "/")
	return len(text) <= maxNamespacesBytes && slices.IsSorted(names) && len(slices.Compact(names)) == strings.Count(text, "/")+1
}

// Within returns the namespaces that the list covers, for a caller with the given scope now.
// Namespaces that were gained since the first page are left out. If some were lost, the list cannot
// be continued: see ServedAs.
func (t Page) Within(scope auth.Namespaces, indivisible bool) auth.Namespaces {
	if t.Namespaces == "" || indivisible {
		return scope
	}
	if began := (auth.Namespaces{Names: strings.Split(t.Namespaces, "/")}); access.Covers(scope, began) {
		return began
	}
	return scope
}

// KeyFor returns the key under which a list is cached for the caller. The API server's response may
// depend on everything in a credential, so each credential of a user has its own lists.
func (t Page) KeyFor(identity auth.Identity) string {
	caller := identity.Key()
	key := append(caller[:], t.Query...)
	for _, text := range []string{t.Served, t.Namespaces, t.Objects, t.Position.Version} {
		key = AppendText(key, text)
	}
	for _, at := range t.Position.Namespaces {
		key = AppendText(AppendText(key, at.Namespace), at.Version)
	}
	return string(binary.BigEndian.AppendUint64(key, t.Position.Epoch))
}

var errPageFormat = apierrors.NewResourceExpired(
	"the list has expired: page_token has the format of a newer version of the service, such as during an upgrade; list again from the first page")
