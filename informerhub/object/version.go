package object

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// CompareVersions compares two resource versions of one resource. Versions that cannot be compared
// are treated as equal.
func CompareVersions(a, b string) int {
	order, err := resourceversion.CompareResourceVersion(a, b)
	if err != nil {
		return 0
	}
	return order
}

// Older reports whether version a is older than b.
func Older(a, b string) bool { return CompareVersions(a, b) < 0 }

// IsVersion reports whether text is a resource version, as the API server writes them.
func IsVersion(text string) bool {
	_, err := resourceversion.CompareResourceVersion(text, text)
	return err == nil
}

// VersionNumber returns the number of a version, for storage: it takes eight bytes, and does not
// retain the object that the version was read from. A version that does not fit is
// math.MaxUint64, and cannot be searched for.
func VersionNumber(version string) uint64 {
	n, _ := strconv.ParseUint(version, 10, 64) // the largest number if out of range
	return n
}

// FormatVersion returns the version with a number.
func FormatVersion(number uint64) string { return strconv.FormatUint(number, 10) }
