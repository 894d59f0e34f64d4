package filter

// Limits of one expression. Within them compiling takes at most some ten milliseconds of a processor,
// most of it for checking types, and a filter keeps at most 0.5 MB; with regular expressions up to their
// limit 1.8 MB.
const (
	// MaxBytes is the maximum length of an expression.
	MaxBytes = 4 << 10
	// maxDepth is the maximum depth of its parts.
	maxDepth = 100
	// maxNodes is the maximum number of its parts after macro expansion.
	maxNodes = 1 << 10
	// maxCopies bounds its uses of macros that duplicate their target.
	maxCopies = 6
	// maxRecoveries bounds how often the parser continues after an error.
	maxRecoveries = 8
	// maxPatternWeight is the approximate maximum number of instructions of all constant regular
	// expressions together, and of each one that is not constant.
	maxPatternWeight = 10_000
	// maxClasses is the maximum number of classes of Unicode in all constant regular expressions together, and
	// in each one that is not constant.
	maxClasses = 16
	// maxExponent is the maximum number of digits of a number such as quantity("1e3").
	maxExponent = 1000
	// maxPrecision is the maximum number of decimal places, as in format("%.3f").
	maxPrecision = 100
)

// Limits of the evaluation, in Kubernetes' units of cost: approximately the number of steps, and a
// tenth of the characters of processed strings. A unit takes 100 to 300 ns.
const (
	// maxObjectCost is the limit for one object: one or two milliseconds.
	maxObjectCost = 5_000
	// maxListCost is the limit for all objects of a list: two or three seconds.
	maxListCost = 10_000_000
)
