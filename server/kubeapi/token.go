package kubeapi

import (
	"encoding/base64"
	"encoding/json"
	"path"
	"strconv"
	"strings"

	"github.com/kubeconnect/kubeconnect/informerhub"
)

// continueToken is the token of the next page of a list, in the form of the API server's own tokens: a page whose objects no
// replica knows any more is read at the API server with the same token, and the other way round.
type continueToken struct {
	APIVersion      string `json:"v"`
	ResourceVersion int64  `json:"rv"`
	StartKey        string `json:"start"`
}

const tokenVersion = "meta.k8s.io/v1"

// tokenBehind returns the token of the page that follows an object, in a list of one namespace or of all.
func tokenBehind(object *informerhub.Object, version, namespace string) (string, bool) {
	number, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		return "", false
	}
	text, err := json.Marshal(continueToken{tokenVersion, number, "/" + keyIn(object, namespace) + "\x00"})
	return base64.RawURLEncoding.EncodeToString(text), err == nil
}

// readToken returns the version of a list and the key that its next page starts at; false for a token that only the API server
// can read, such as that of an inconsistent continuation, and for an invalid one.
func readToken(text string) (version, start string, ok bool) {
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return "", "", false
	}
	var token continueToken
	if json.Unmarshal(decoded, &token) != nil || token.APIVersion != tokenVersion || token.ResourceVersion <= 0 || token.StartKey == "" {
		return "", "", false
	}
	rooted := token.StartKey
	if !strings.HasPrefix(rooted, "/") {
		rooted = "/" + rooted
	}
	if path.Clean(rooted) != rooted {
		return "", "", false
	}
	return strconv.FormatInt(token.ResourceVersion, 10), rooted[1:], true
}

// keyIn returns the key of an object relative to that of a list. The API server orders lists by it.
func keyIn(object *informerhub.Object, namespace string) string {
	if namespace != "" || object.Namespace() == "" {
		return object.Name()
	}
	return object.Namespace() + "/" + object.Name()
}

// inKeyOrder returns objects, which are in the order of namespace and name, in the order of their keys. The two differ for
// namespaces of which one name is the beginning of another, such as "a" and "a-b": "a-b/x" comes before "a/x".
func inKeyOrder(objects []*informerhub.Object) []*informerhub.Object {
	var runs [][]*informerhub.Object
	sorted := true
	for begin := 0; begin < len(objects); {
		namespace := objects[begin].Namespace()
		end := begin + 1
		for end < len(objects) && objects[end].Namespace() == namespace {
			end++
		}
		if len(runs) > 0 && objects[begin-1].Namespace()+"/" > namespace+"/" {
			sorted = false
		}
		runs = append(runs, objects[begin:end])
		begin = end
	}
	if sorted {
		return objects
	}
	sortRuns(runs)
	ordered := make([]*informerhub.Object, 0, len(objects))
	for _, run := range runs {
		ordered = append(ordered, run...)
	}
	return ordered
}
