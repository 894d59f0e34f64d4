package informerhub

import (
	"slices"
	"strings"

	"github.com/kubeconnect/kubeconnect/informerhub/object"
)

// Position is the progress of a stream, in terms that every replica understands: everything up to a
// resource version has been delivered. Resume tokens are made from it.
type Position struct {
	Version string
	// Deletion is the last of several deletions at a newer version, if some of these have been
	// delivered too; zero otherwise. The deletions at one version come in the same order at every
	// replica, because etcd orders them. A replica that knows this deletion continues after it, and
	// another one sends the deletions again.
	Deletion Deletion
	// Unchecked is a version before Version, if deletions since then may be missing: the replica's watch
	// had just begun. The replica itself finds them. Another one that knows of deletions which can be
	// missing begins with Reset. Empty otherwise.
	Unchecked string
	// Epoch is the epoch of the replica that issued the position, and Issued the time of issue, in
	// Unix seconds. They distinguish a position that can be resumed from one in a history that was
	// undone since (an API server's store restored from a backup).
	Epoch  uint64
	Issued int64
	// Namespaces are the positions in each of several namespaces that are cached one by one, in order. Version is then
	// the oldest of their versions, Epoch identifies all of their epochs, and the other fields are zero. Nil if one
	// position is that of the whole stream.
	Namespaces []NamespacePosition
}

// NamespacePosition is the position of a stream in one namespace.
type NamespacePosition struct {
	Namespace string
	Position
	// Through is the version of the last change that was read; see [Batch]. It is not older than Version.
	Through string
}

// Deletion identifies the deletion of an object.
type Deletion struct {
	Version string // of the deletion
	UID     string
}

// mergedPosition returns the position of a stream that has the given positions in several namespaces.
func mergedPosition(parts []NamespacePosition) Position {
	merged := Position{Namespaces: parts, Version: parts[0].Version, Issued: parts[0].Issued}
	for _, part := range parts {
		merged.Epoch = merged.Epoch*hashFactor ^ part.Epoch
		merged.Issued = min(merged.Issued, part.Issued)
		if object.Older(part.Version, merged.Version) {
			merged.Version = part.Version
		}
	}
	return merged
}

// hashFactor is the prime of FNV-1a.
const hashFactor = 1099511628211

// with returns the position with another one in the namespace of an index.
func (p Position) with(index int, position Position) Position {
	parts := slices.Clone(p.Namespaces)
	parts[index].Position, parts[index].Through = position, newerVersion(position.Version, parts[index].Through)
	return mergedPosition(parts)
}

// In returns the position in a namespace; false if the position says nothing of it.
func (p Position) In(namespace string) (NamespacePosition, bool) {
	if p.Namespaces == nil {
		return NamespacePosition{Namespace: namespace, Position: p, Through: p.Version}, true
	}
	i, found := slices.BinarySearchFunc(p.Namespaces, namespace, func(part NamespacePosition, name string) int {
		return strings.Compare(part.Namespace, name)
	})
	if !found {
		return NamespacePosition{}, false
	}
	return p.Namespaces[i], true
}

// Reaches reports whether everything up to another position has been delivered at this one, in all namespaces of both.
func (p Position) Reaches(other Position) bool {
	parts := p.Namespaces
	if parts == nil {
		parts = other.Namespaces
	}
	for _, part := range parts {
		at, _ := p.In(part.Namespace)
		if of, known := other.In(part.Namespace); known && object.Older(at.Version, of.Version) {
			return false
		}
	}
	return parts != nil || !object.Older(p.Version, other.Version)
}

// AtThrough returns the position of a state that has every change that was read, also those at whose version others may
// follow. version is that of the state: see Batch.Through.
func (p Position) AtThrough(version string) Position {
	p.Version = version
	if p.Namespaces != nil {
		p.Namespaces = slices.Clone(p.Namespaces)
		for i := range p.Namespaces {
			p.Namespaces[i].Version = p.Namespaces[i].Through
		}
	}
	return p
}

// through returns the oldest of the versions of the last changes that were read in the namespaces.
func (p Position) through() string {
	oldest := p.Namespaces[0].Through
	for _, part := range p.Namespaces {
		if object.Older(part.Through, oldest) {
			oldest = part.Through
		}
	}
	return oldest
}

// newerVersion returns the newer of two versions. An empty version is older than any other version.
func newerVersion(a, b string) string {
	if a == "" || b != "" && object.Older(a, b) {
		return b
	}
	return a
}
