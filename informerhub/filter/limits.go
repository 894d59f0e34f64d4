package filter

// What one expression may have.
const (
	// MaxBytes is how long an expression may be.
	MaxBytes = 16 << 10
	// maxDepth is how deep its parts may lie in each other.
	maxDepth = 100
	// maxNodes is how many parts it may have when its macros are expanded.
	maxNodes = 16 << 10
	// maxCopies is how often it may use the macros that double what they are called on.
	maxCopies = 6
	// maxRecoveries is how often the parser goes on behind an error.
	maxRecoveries = 8
	// maxPatternWeight is how many instructions a regular expression may have, about.
	maxPatternWeight = 10_000
	// maxExponent is the most digits that quantity("1e3") may stand for.
	maxExponent = 1000
	// maxPrecision is the most decimal places of format("%.3f").
	maxPrecision = 100
)

// What evaluating may cost, in Kubernetes' units of cost: about the number of steps, and
// a tenth of the characters of strings that are gone through. A unit takes 100 to 300 ns.
const (
	// maxObjectCost is for one object: one or two milliseconds.
	maxObjectCost = 5_000
	// maxListCost is for all objects of a list: two or three seconds.
	maxListCost = 10_000_000
)
