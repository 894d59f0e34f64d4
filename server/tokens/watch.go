package tokens

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/server/encode"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// Every token, in every version of the service, is base64url, and its first byte is the number of its
// format. The number stands for all that a reader must know: which fields follow, and which normal form
// of the request is hashed, see hashSelection and QueryOf. A change of either takes the next number, and
// testdata/tokens.jsonl gets tokens of it.
//
//	1  a watch, see below
//	2  several watches, see Join; a page of a list, see Page
//	3  a watch, or a page of a list, with positions in several namespaces: see appendPositions
//
// A token with a higher number is of a newer version of the service, with which this one shares its
// callers during an upgrade and after a downgrade. Its content is unknown, and the caller has made no
// mistake: a stream begins with RESET, and a list expires. Therefore a new format costs one
// snapshot for each stream that moves to an older replica. A version that writes a new format reads the
// one before, too.
//
// A token with a known number whose content does not fit was truncated or modified.
const NewestFormat = 3

// A resume token of a watch consists of: its format; a hash of what the watch selects; the
// served state; a position (informerhub.Position); and a checksum. The served state
// contains a hash of the operator's generation, if there is one; the API version; a hash of the
// namespaces that the caller could read, if these were not all; a hash of the result of a relation,
// if there is one; the encoding of the objects that patches apply to, if there are patches; the version
// since which deletions may be missing, if there is one; and the last deletion of the position, if it
// has one: a version of the service that does not know these begins with a snapshot. In the token of a watch with a page, the objects of the page follow the position. A
// token contains no secret and needs none: it says where to continue, never what its bearer can
// read.
const (
	tokenFormat    = 1
	selectionBytes = 8
	scopeBytes     = 16
	checksumBytes  = 4
)

// Watch encodes and parses the resume tokens of one watch.
type Watch struct {
	selection  []byte
	generation string // see InGeneration; empty for none
	ApiVersion string
	scope      string // empty for all namespaces, and for a page
	related    string // empty if the watch has no relation
	patched    string // what patches apply to; empty without patches
	isPage     bool   // of a watch with a page
	page       []byte // the objects of the page that the client has; see appendHeld
}

// WithScope returns the tokens of the same watch in a scope. Those of a page are the same in every
// scope: they list the objects that the client has.
func (t Watch) WithScope(scope auth.Namespaces) Watch {
	t.scope = ""
	if t.isPage || scope.All && scope.Selected == "" {
		return t
	}
	text := strings.Join(scope.Names, "/")
	if scope.Selected != "" {
		text = fmt.Sprintf("%s?%t&%s", text, scope.All, scope.Selected) // no name of a namespace has a question mark
	}
	sum := sha256.Sum256([]byte(text))
	t.scope = "/" + string(sum[:scopeBytes])
	return t
}

// generationPrefix precedes the hash of a generation. No API version begins with it.
const generationPrefix = "/generation/"

// InGeneration returns the tokens of the same watch in a generation that the operator has named. A
// stream never resumes from another generation.
func (t Watch) InGeneration(name string) Watch {
	if name != "" {
		sum := sha256.Sum256([]byte(name))
		t.generation = generationPrefix + string(sum[:scopeBytes]) + "/"
	}
	return t
}

// RelatedBy returns the tokens of the same watch with a relation. Another object under the same
// name, or another selector of the same object, selects other objects: a stream does not resume
// then.
//
// requested is the relation as it was requested, and found the condition that it was resolved to. Both are
// texts in the normal form of the format; requested is empty for no relation.
func (t Watch) RelatedBy(requested, found string) Watch {
	if requested == "" {
		return t
	}
	digest := sha256.Sum256(append(slices.Clone(t.selection), requested...))
	related := sha256.Sum256([]byte(found))
	t.selection, t.related = digest[:selectionBytes], "/related/"+string(related[:scopeBytes])
	return t
}

// Served returns the state that distinguishes histories of a watch. A stream does not resume in a
// history with another state.
func (t Watch) Served() string {
	return t.generation + t.ApiVersion + t.scope + t.related + t.patched
}

// canResumeFrom reports whether a stream with the served state from can resume in this history. A
// stream of patches can resume as a stream of whole objects, because it had all of their content.
// In the other direction, or with another encoding, it is unknown what the client has.
func (t Watch) canResumeFrom(from string) bool {
	unpatched := t
	unpatched.patched = ""
	patched, ok := strings.CutPrefix(from, unpatched.Served())
	return ok && (patched == t.patched || t.patched == "" && strings.HasPrefix(patched, patchesTo))
}

// patchesTo precedes the encoding of the objects that patches apply to.
const patchesTo = "/patches/"

// OfWatch returns the tokens of a watch of a resource. selection is a hash of what the watch selects, without
// the resource.
func OfWatch(resource informerhub.Resource, selection [sha256.Size]byte) Watch {
	sum := sha256.Sum256(append(selection[:], resource.GroupResource().String()...))
	return Watch{selection: sum[:selectionBytes], ApiVersion: resource.Version}
}

// OfPage returns the tokens of the same watch with a page.
func (t Watch) OfPage() Watch {
	t.isPage = true
	return t
}

// OfPatches returns the tokens of the same watch with patches to objects of an encoding.
func (t Watch) OfPatches(encoding kubeconnectv1.Encoding) Watch {
	t.patched = patchesTo + encode.OrDefault(encoding).String()
	return t
}

// WithHeld returns the tokens of the same watch for a client that has the given objects of the page.
func (t Watch) WithHeld(page []byte) Watch {
	t.page = page
	return t
}

// ServedAs returns the part of a page token that must be equal for all pages of a list, in addition to the
// query: the operator's generation, the API version, the namespaces that the caller can read, and the result of
// a relation, as in tokens.RelatedBy.
func ServedAs(apiVersion, generation string, scope auth.Namespaces, requested, found string) string {
	return Watch{ApiVersion: apiVersion}.InGeneration(generation).WithScope(scope).RelatedBy(requested, found).Served()
}

// Key implements encode.Tokens. A selection has a fixed length.
func (t Watch) Key() string { return string(t.selection) + t.Served() }

// Write implements encode.Tokens.
func (t Watch) Write(position informerhub.Position) string {
	format := byte(tokenFormat)
	if position.Namespaces != nil {
		format = namespacesFormat
	}
	token := append([]byte{format}, t.selection...)
	token = AppendText(token, t.Served()+uncheckedText(position.Unchecked)+deletionText(position.Deletion))
	token = AppendText(token, position.Version)
	token = binary.BigEndian.AppendUint64(token, position.Epoch)
	token = binary.BigEndian.AppendUint64(token, uint64(position.Issued))
	token = append(appendPositions(token, position.Namespaces), t.page...)
	token = binary.BigEndian.AppendUint32(token, crc32.ChecksumIEEE(token))
	return base64.RawURLEncoding.EncodeToString(token)
}

// Read returns the position of a token, or nil if the stream must start with a snapshot: there is
// no token, the token is of a newer format or of another generation, the cluster now serves the
// resource in another version, the caller can read other namespaces now, or it requests patches and
// does not have the objects that they apply to.
func (t Watch) Read(token string) (*informerhub.Position, error) {
	position, page, err := t.ReadPage(token)
	if err == nil && len(page) > 0 {
		return nil, errOtherWatch
	}
	return position, err
}

var errOtherWatch = apierror.BadRequest("resume_token belongs to another watch: resource, namespace, name, selectors, filter, fields, order and relation must be the same")

// ReadPage is like read, and returns the page that the client has, also if the stream must start with
// a snapshot; nil if the page is not known, because there is no token or because of its newer format.
func (t Watch) ReadPage(token string) (position *informerhub.Position, page []byte, err error) {
	if token == "" {
		return nil, nil, nil
	}
	if IsOfNewerFormat(token) {
		return nil, nil, nil
	}
	fields, format, ok := openTokenOf(token, tokenFormat)
	if !ok || len(fields) < selectionBytes {
		return nil, nil, apierror.BadRequest("invalid resume_token: truncated or modified; watch without it")
	}
	selection, fields := fields[:selectionBytes], fields[selectionBytes:]
	served, fields, _ := cutText(fields)
	version, fields, _ := cutText(fields)
	if len(fields) < 16 || !object.IsVersion(version) {
		return nil, nil, apierror.BadRequest("invalid resume_token: watch without it")
	}
	if !slices.Equal(selection, t.selection) {
		return nil, nil, errOtherWatch
	}
	served, deletion := cutDeletion(served)
	served, unchecked, isUnchecked := strings.Cut(served, uncheckedPrefix)
	if isUnchecked && !object.IsVersion(unchecked) {
		return nil, nil, apierror.BadRequest("invalid resume_token: watch without it")
	}
	var namespaces []informerhub.NamespacePosition
	page = fields[16:]
	if format == namespacesFormat {
		if namespaces, page, ok = cutPositions(page); !ok {
			return nil, nil, apierror.BadRequest("invalid resume_token: watch without it")
		}
	}
	if !t.canResumeFrom(served) {
		return nil, page, nil
	}
	return &informerhub.Position{
		Version:   version,
		Deletion:  deletion,
		Unchecked: unchecked,
		Epoch:     binary.BigEndian.Uint64(fields),
		Issued:    int64(binary.BigEndian.Uint64(fields[8:])),

		Namespaces: namespaces,
	}, page, nil
}

// IsOfNewerFormat reports whether a token has a format that this version does not know. What follows the
// format is not looked at.
func IsOfNewerFormat(token string) bool {
	const encodedFormat = 2 // letters
	first, err := base64.RawURLEncoding.DecodeString(token[:min(encodedFormat, len(token))])
	return err == nil && len(first) > 0 && first[0] > NewestFormat
}

// uncheckedPrefix precedes the version since which deletions may be missing, in a position that has one.
const uncheckedPrefix = "/unchecked/"

func uncheckedText(version string) string {
	if version == "" {
		return ""
	}
	return uncheckedPrefix + version
}

// deletionPrefix precedes the last deletion of a position: its version, a slash and the UID.
const deletionPrefix = "/deletion/"

func deletionText(deletion informerhub.Deletion) string {
	if deletion == (informerhub.Deletion{}) {
		return ""
	}
	return deletionPrefix + deletion.Version + "/" + deletion.UID
}

// cutDeletion returns what precedes the last deletion in a served state, and the deletion.
func cutDeletion(served string) (rest string, deletion informerhub.Deletion) {
	at := strings.LastIndex(served, deletionPrefix)
	if at < 0 {
		return served, informerhub.Deletion{}
	}
	version, uid, ok := strings.Cut(served[at+len(deletionPrefix):], "/")
	if !ok || version == "" {
		return served, informerhub.Deletion{}
	}
	return served[:at], informerhub.Deletion{Version: version, UID: uid}
}

// openTokenOf is like openToken, for a token of a format, or of the same content with positions in several namespaces.
func openTokenOf(token string, format byte) (fields []byte, of byte, ok bool) {
	if fields, ok = openToken(token, namespacesFormat); ok {
		return fields, namespacesFormat, true
	}
	fields, ok = openToken(token, format)
	return fields, format, ok
}

// openToken returns the bytes between a token's format and its checksum. It returns false if either
// is wrong.
func openToken(token string, format byte) (fields []byte, ok bool) {
	decoded, ok := tokenBytes(token)
	if !ok || len(decoded) < 1+checksumBytes || decoded[0] != format {
		return nil, false
	}
	end := len(decoded) - checksumBytes
	return decoded[1:end], binary.BigEndian.Uint32(decoded[end:]) == crc32.ChecksumIEEE(decoded[:end])
}

// tokenBytes decodes a token from base64url. It accepts only the canonical encoding: line breaks,
// which the decoder ignores, and unused bits that are set are modifications.
func tokenBytes(token string) (decoded []byte, ok bool) {
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(token)
	return decoded, err == nil && base64.RawURLEncoding.EncodedLen(len(decoded)) == len(token)
}

func AppendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// cutText returns the string at the beginning of fields and the rest. It returns false if there is
// none.
func cutText(fields []byte) (text string, rest []byte, ok bool) {
	length, n := binary.Uvarint(fields)
	if n <= 0 || length > uint64(len(fields)-n) {
		return "", nil, false
	}
	end := n + int(length)
	return string(fields[n:end]), fields[end:], true
}
