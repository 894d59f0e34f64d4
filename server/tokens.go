package server

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
)

// A resume token is, in base64url: a format number; what the watch selects, as a
// hash; the operator's generation, as a hash, if there is one; the API version that it was in, what namespaces the caller could see, as a hash,
// if not all, what a relation was then, as a hash, if there is one, and what patches were
// to, if there were some; a position (informerhub.Position); and a
// checksum. There is no secret in it, and none is needed: a token says where to
// continue, never what its bearer may see.
const (
	tokenFormat    = 1
	selectionBytes = 8
	scopeBytes     = 16
	checksumBytes  = 4
)

// tokens makes and reads the resume tokens of one watch.
type tokens struct {
	selection  []byte
	generation string // see inGeneration; empty for none
	apiVersion string
	scope      string // empty for everything
	related    string // empty where the watch has no relation
	patched    string // what patches are to; empty without
}

// under are the tokens of the same watch where the caller may see some namespaces only.
func (t tokens) under(scope auth.Namespaces) tokens {
	t.scope = ""
	if !scope.All {
		sum := sha256.Sum256([]byte(strings.Join(scope.Names, "/")))
		t.scope = "/" + string(sum[:scopeBytes])
	}
	return t
}

// generationPrefix stands before the hash of a generation: no API version begins with it.
const generationPrefix = "/generation/"

// inGeneration returns the tokens of the same watch in a generation that the operator has
// named. No history leads from one generation to another.
func (t tokens) inGeneration(name string) tokens {
	if name != "" {
		sum := sha256.Sum256([]byte(name))
		t.generation = generationPrefix + string(sum[:scopeBytes]) + "/"
	}
	return t
}

// relatedBy are the tokens of the same watch for what has a relation. Another object under
// the same name, or another selector of the same object, selects something else, to which no
// history leads.
func (t tokens) relatedBy(by relation) tokens {
	if by.asked == "" {
		return t
	}
	asked := sha256.Sum256(slices.Concat(t.selection, []byte(by.asked)))
	related := sha256.Sum256(fmt.Appendf(nil, "%q", by.related))
	t.selection, t.related = asked[:selectionBytes], "/related/"+string(related[:scopeBytes])
	return t
}

// served tells apart histories of a watch that do not lead on from one to another.
func (t tokens) served() string {
	return t.generation + t.apiVersion + t.scope + t.related + t.patched
}

// leadsOn reports whether a history leads on to this one. One of patches does to one of
// whole objects, for it was of all that they need; the other way about, or in another form,
// it is not known what the caller holds.
func (t tokens) leadsOn(from string) bool {
	whole := t
	whole.patched = ""
	patched, ok := strings.CutPrefix(from, whole.served())
	return ok && (patched == t.patched || t.patched == "" && strings.HasPrefix(patched, patchesTo))
}

// patchesTo stands before the form of what patches are to.
const patchesTo = "/patches/"

func tokensFor(resource informerhub.Resource, request *kubeconnectv1.WatchRequest) tokens {
	selects := proto.CloneOf(request)
	selects.Resource = resource.GroupResource().String() // however the caller spells it
	if fields, err := fieldsOf(request); err == nil && fields != nil {
		selects.Fields = []string{fields.String()}
	}
	selects.ResumeToken, selects.MinResourceVersion = "", ""
	selects.RequireAllNamespaces = false // it selects nothing: see under
	selects.Related = nil                // see relatedBy
	selects.Encoding, selects.Patches = kubeconnectv1.Encoding_ENCODING_UNSPECIFIED, whole
	text, _ := proto.MarshalOptions{Deterministic: true}.Marshal(selects)
	sum := sha256.Sum256(text)
	made := tokens{selection: sum[:selectionBytes], apiVersion: resource.Version}
	if request.GetPatches() != whole {
		made.patched = patchesTo + orDefault(request.GetEncoding()).String()
	}
	return made
}

// write makes a token.
func (t tokens) write(position informerhub.Position) string {
	token := append([]byte{tokenFormat}, t.selection...)
	token = appendText(token, t.served())
	token = appendText(token, position.Version)
	token = binary.BigEndian.AppendUint64(token, position.Epoch)
	token = binary.BigEndian.AppendUint64(token, uint64(position.Issued))
	token = binary.BigEndian.AppendUint32(token, crc32.ChecksumIEEE(token))
	return base64.RawURLEncoding.EncodeToString(token)
}

// read answers the position of a token; nil if the stream must begin anew: there is
// no token, or it is of another generation, or the cluster has since gone over to another version of the resource, or the
// caller may now see other namespaces, or wants patches and does not hold what they are to.
func (t tokens) read(token string) (*informerhub.Position, error) {
	if token == "" {
		return nil, nil
	}
	fields, ok := openToken(token, tokenFormat)
	if !ok || len(fields) < selectionBytes {
		return nil, badRequest("resume_token is not one that this service gives out: it was cut or changed on the way; watch without it")
	}
	selection, fields := fields[:selectionBytes], fields[selectionBytes:]
	served, fields, _ := cutText(fields)
	version, fields, _ := cutText(fields)
	if len(fields) != 16 || !isVersion(version) {
		return nil, badRequest("resume_token is not one that this service gives out: watch without it")
	}
	if !slices.Equal(selection, t.selection) {
		return nil, badRequest("resume_token belongs to another watch: resource, namespace, name, selectors, filter, fields and relation must be the same")
	}
	if !t.leadsOn(served) {
		return nil, nil
	}
	return &informerhub.Position{
		Version: version,
		Epoch:   binary.BigEndian.Uint64(fields),
		Issued:  int64(binary.BigEndian.Uint64(fields[8:])),
	}, nil
}

// openToken answers what is between a token's format, which must be the one, and its
// checksum.
func openToken(token string, format byte) (fields []byte, ok bool) {
	decoded, ok := tokenBytes(token)
	if !ok || len(decoded) < 1+checksumBytes || decoded[0] != format {
		return nil, false
	}
	end := len(decoded) - checksumBytes
	return decoded[1:end], binary.BigEndian.Uint32(decoded[end:]) == crc32.ChecksumIEEE(decoded[:end])
}

// tokenBytes answers what a token says in base64url. It has one text alone: line breaks,
// which the decoder passes over, and bits that mean nothing are changes on the way.
func tokenBytes(token string) (decoded []byte, ok bool) {
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(token)
	return decoded, err == nil && base64.RawURLEncoding.EncodedLen(len(decoded)) == len(token)
}

func isVersion(version string) bool {
	_, err := resourceversion.CompareResourceVersion(version, version)
	return err == nil
}

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// cutText answers the text at the beginning of fields, and what follows it; false, and
// nothing, if there is no text.
func cutText(fields []byte) (text string, rest []byte, ok bool) {
	length, n := binary.Uvarint(fields)
	if n <= 0 || length > uint64(len(fields)-n) {
		return "", nil, false
	}
	end := n + int(length)
	return string(fields[n:end]), fields[end:], true
}
