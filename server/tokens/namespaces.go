package tokens

import (
	"encoding/binary"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// namespacesFormat is the format of a token with positions in several namespaces.
const namespacesFormat = 3

// appendPositions appends the positions in several namespaces; nothing for none. They are: their number; and for each the
// namespace, the version, the version since which deletions may be missing, the version and the UID of the last deletion,
// each of these three possibly empty, and the epoch and time of issue.
func appendPositions(token []byte, positions []informerhub.NamespacePosition) []byte {
	if positions == nil {
		return token
	}
	token = binary.AppendUvarint(token, uint64(len(positions)))
	for _, at := range positions {
		for _, text := range []string{at.Namespace, at.Version, at.Unchecked, at.Deletion.Version, at.Deletion.UID} {
			token = AppendText(token, text)
		}
		token = binary.BigEndian.AppendUint64(token, at.Epoch)
		token = binary.BigEndian.AppendUint64(token, uint64(at.Issued))
	}
	return token
}

// cutPositions returns the positions at the beginning of fields, and the rest. It returns false for positions that were
// not written by appendPositions.
func cutPositions(fields []byte) (positions []informerhub.NamespacePosition, rest []byte, ok bool) {
	count, length := binary.Uvarint(fields)
	if length <= 0 || count < 1 || count > uint64(len(fields)) {
		return nil, nil, false
	}
	fields = fields[length:]
	for range count {
		var at informerhub.NamespacePosition
		for _, text := range []*string{&at.Namespace, &at.Version, &at.Unchecked, &at.Deletion.Version, &at.Deletion.UID} {
			if *text, fields, ok = cutText(fields); !ok {
				return nil, nil, false
			}
		}
		last := len(positions) - 1
		if len(fields) < 16 || !object.IsVersion(at.Version) || !isVersionOrEmpty(at.Unchecked) || !isVersionOrEmpty(at.Deletion.Version) ||
			last >= 0 && positions[last].Namespace >= at.Namespace {
			return nil, nil, false
		}
		at.Epoch, at.Issued, at.Through = binary.BigEndian.Uint64(fields), int64(binary.BigEndian.Uint64(fields[8:])), at.Version
		positions, fields = append(positions, at), fields[16:]
	}
	return positions, fields, true
}

func isVersionOrEmpty(text string) bool { return text == "" || object.IsVersion(text) }
