package informerhub

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// compareVersions compares two resource versions of one resource. Versions that cannot be compared
// are treated as equal.
func compareVersions(a, b string) int {
	order, err := resourceversion.CompareResourceVersion(a, b)
	if err != nil {
		return 0
	}
	return order
}

// older reports whether version a is older than b.
func older(a, b string) bool { return compareVersions(a, b) < 0 }

// versionNumber returns the number of a version, which the log stores: it takes eight bytes, and
// does not retain the object that the version was read from. A version that does not fit is
// math.MaxUint64, and cannot be searched for.
func versionNumber(version string) uint64 {
	n, _ := strconv.ParseUint(version, 10, 64) // the largest number if out of range
	return n
}

func formatVersion(number uint64) string { return strconv.FormatUint(number, 10) }
