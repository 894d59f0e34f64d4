package filter

import (
	"errors"
	"fmt"
	"math"
	"regexp/syntax"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// patterns are the weights of the constant regular expressions in an expression.
type patterns map[string]uint64

// withPattern are the functions whose second argument is a regular expression.
var withPattern = map[string]bool{"matches": true, "find": true, "findAll": true}

func patternsIn(root ast.Expr) patterns {
	found := make(patterns)
	eachPattern(root, func(part ast.Expr, pattern string) {
		found[pattern], _ = weighPattern(pattern)
	})
	return found
}

// patternWeight returns the weight of all constant regular expressions in an expression. Each use of one
// counts, because cel-go compiles each.
func patternWeight(root ast.Expr) (total int) {
	eachPattern(root, func(_ ast.Expr, pattern string) {
		weight, _ := weighPattern(pattern)
		total += int(weight)
	})
	return total
}

// eachPattern visits the constant regular expressions in an expression.
func eachPattern(root ast.Expr, visit func(part ast.Expr, pattern string)) {
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(part ast.Expr) {
		if part.Kind() != ast.CallKind || !withPattern[part.AsCall().FunctionName()] {
			return
		}
		last := part.AsCall().Args()[len(part.AsCall().Args())-1]
		if last.Kind() != ast.LiteralKind {
			return
		}
		if pattern, ok := last.AsLiteral().(types.String); ok {
			visit(last, string(pattern))
		}
	}))
}

// weight returns a regular expression's weight, and whether it is a constant of the expression.
func (p patterns) weight(pattern string) (weight uint64, known bool) {
	if weight, known = p[pattern]; known {
		return weight, true
	}
	weight, err := weighPattern(pattern)
	switch {
	case errors.Is(err, errCostlyPattern):
		return math.MaxUint64, false
	case err != nil:
		return 1, false // the call will report the mistake
	}
	return weight, false
}

// errCostlyPattern reports that a regular expression would take too long to be parsed.
var errCostlyPattern = fmt.Errorf("the regular expressions have more than %d bytes or %d classes of Unicode, such as \\pL, together", MaxBytes, maxClasses)

// classesIn returns the number of classes of Unicode in a regular expression, or some more. Each has a table of
// up to a thousand ranges, which is copied while the expression is parsed.
func classesIn(pattern string) int {
	return strings.Count(pattern, `\p`) + strings.Count(pattern, `\P`)
}

// weighPattern returns the approximate number of instructions of a regular expression with expanded
// repetitions. It does not compile the expression.
func weighPattern(pattern string) (uint64, error) {
	if len(pattern) > MaxBytes || classesIn(pattern) > maxClasses {
		return 0, errCostlyPattern
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	return weighSyntax(parsed), nil
}

func weighSyntax(parsed *syntax.Regexp) uint64 {
	weight := uint64(1) + uint64(len(parsed.Rune))/2
	for _, sub := range parsed.Sub {
		weight = add(weight, weighSyntax(sub))
	}
	if parsed.Op == syntax.OpRepeat {
		weight = multiply(weight, uint64(max(parsed.Min+1, parsed.Max)))
	}
	return weight
}

// patternValidator rejects regular expressions that are malformed, or too large together: each one is
// compiled, and stays in memory as long as a stream uses the filter.
type patternValidator struct{}

// Name implements cel.ASTValidator.
func (patternValidator) Name() string { return "kubeconnect.validator.pattern" }

// Validate implements cel.ASTValidator.
func (patternValidator) Validate(_ *cel.Env, _ cel.ValidatorConfig, root *ast.AST, issues *cel.Issues) {
	total, classes, rejected := uint64(0), 0, false
	eachPattern(root.Expr(), func(part ast.Expr, pattern string) {
		if classes += classesIn(pattern); rejected {
			return
		}
		weight, err := weighPattern(pattern)
		if classes > maxClasses {
			err, rejected = errCostlyPattern, true
		}
		total = add(total, weight)
		switch {
		case err != nil:
			issues.ReportErrorAtID(part.ID(), "%v", err)
		case total > maxPatternWeight:
			rejected = true
			issues.ReportErrorAtID(part.ID(), "the regular expressions up to this one are too large: they have %d instructions together, and may have %d",
				total, maxPatternWeight)
		}
	})
}

// add and multiply saturate at the greatest number instead of overflowing.
func add(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

func multiply(a, b uint64) uint64 {
	if a != 0 && b > math.MaxUint64/a {
		return math.MaxUint64
	}
	return a * b
}
