package filter

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiserver/pkg/cel/library"
)

// variable is the only variable of an expression.
const variable = "object"

// language is the language of expressions: that of k8s.io/apiserver/pkg/cel/environment for
// Kubernetes 1.37, without the authorizer.
type language struct {
	*cel.Env
	implementations implementations
}

// theLanguage is created on first use, because that takes some milliseconds.
var theLanguage = sync.OnceValues(func() (*language, error) {
	env, err := cel.NewEnv(
		cel.Variable(variable, cel.DynType),
		cel.HomogeneousAggregateLiterals(),
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(),
		cel.CostEstimatorOptions(checker.PresenceTestHasCost(false)),
		cel.ASTValidators(
			cel.ValidateDurationLiterals(),
			cel.ValidateTimestampLiterals(),
			cel.ValidateHomogeneousAggregateLiterals(),
			patternValidator{}, // instead of ValidateRegexLiterals, which compiles every pattern
		),
		cel.ParserRecursionLimit(maxDepth),
		cel.ParserErrorRecoveryLimit(maxRecoveries),
		cel.ParserExpressionSizeLimit(MaxBytes),

		ext.Strings(ext.StringsVersion(2), ext.StringsMaxPrecision(maxPrecision)),
		ext.Sets(),
		ext.TwoVarComprehensions(),
		ext.Lists(ext.ListsVersion(3), ext.ListsMaxRangeSize(maxObjectCost)),
		library.URLs(),
		library.Regex(),
		library.Quantity(),
		library.IP(),
		library.CIDR(),
		library.Format(),
		library.SemverLib(library.SemverVersion(1)),
		library.Lists(library.ListsVersion(1)),
	)
	if err != nil {
		return nil, err
	}
	implementations, err := implementationsIn(env)
	return &language{env, implementations}, err
})

// parse parses an expression, and returns the number of its parts.
func (l *language) parse(text string) (parsed *cel.Ast, nodes int, err error) {
	parsed, issues := l.Parse(text)
	if issues.Err() != nil {
		return nil, 0, malformed(text, issues)
	}
	if nodes = countNodes(parsed.NativeRep().Expr()); nodes > maxNodes {
		return nil, 0, fmt.Errorf("it has %d parts, and may have %d at most", nodes, maxNodes)
	}
	return parsed, nodes, nil
}

// check checks the types of an expression. The time for that grows with the square of the number of
// parts, because cel-go copies what it knows of the types at each call.
func (l *language) check(text string, parsed *cel.Ast) (*cel.Ast, error) {
	loosen(parsed.NativeRep())
	checked, issues := l.Check(parsed)
	if issues.Err() != nil {
		return nil, malformed(text, issues)
	}
	return checked, nil
}

func countNodes(root ast.Expr) int {
	count := 0
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(ast.Expr) { count++ }))
	return count
}

// program plans a checked expression. patterns are the regular expressions in it.
func (l *language) program(ast *cel.Ast, patterns patterns) (cel.Program, error) {
	return l.Program(ast,
		cel.CustomDecoratorV2(guard{l.implementations, patterns}.decorate),
		cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost),
		cel.CostTracking(estimator{patterns: patterns}),
		cel.CostTrackerOptions(interpreter.PresenceTestHasCost(false)),
		cel.CostLimit(maxObjectCost),
	)
}

// loosen hides the types of comprehension variables from the checker. The fields of the object have
// no known types, so little is lost. With types, those of [1].map(x, {x: x}).map(x, {x: x}) double
// at each step, so a caller could make the checker run arbitrarily long.
func loosen(parsed *ast.AST) {
	loosener := loosener{ast.NewExprFactory(), parsed.SourceInfo(), ast.MaxID(parsed)}
	ast.PostOrderVisit(parsed.Expr(), ast.NewExprVisitor(loosener.loosen))
}

type loosener struct {
	ast.ExprFactory
	info *ast.SourceInfo
	last int64 // the highest id of a part
}

func (l *loosener) loosen(part ast.Expr) {
	if part.Kind() != ast.ComprehensionKind {
		return
	}
	fold := part.AsComprehension()
	part.SetKindCase(l.NewComprehensionTwoVar(part.ID(), l.dyn(fold.IterRange()), fold.IterVar(), fold.IterVar2(),
		fold.AccuVar(), l.dyn(fold.AccuInit()), fold.LoopCondition(), fold.LoopStep(), fold.Result()))
}

// dyn wraps a part so that its type is hidden. Literals keep their types: these are small, and the
// comprehensions' own steps need them.
func (l *loosener) dyn(part ast.Expr) ast.Expr {
	switch part.Kind() {
	case ast.CallKind, ast.ComprehensionKind, ast.IdentKind, ast.SelectKind:
	case ast.ListKind:
		if part.AsList().Size() == 0 {
			return part
		}
	case ast.MapKind:
		if part.AsMap().Size() == 0 {
			return part
		}
	default:
		return part
	}
	l.last++
	if offsets, ok := l.info.GetOffsetRange(part.ID()); ok {
		l.info.SetOffsetRange(l.last, offsets)
	}
	return l.NewCall(l.last, "dyn", part)
}

const (
	// maxIssues bounds the reported mistakes of an expression.
	maxIssues = 4
	// maxIssueBytes bounds the length of each, including its source line.
	maxIssueBytes = 1024
)

// malformed returns the mistakes of an expression and their positions, as cel-go formats them. The
// error is short, because errors are sent in headers.
func malformed(text string, issues *cel.Issues) error {
	var messages []string
	for i, issue := range issues.Errors() {
		if i == maxIssues {
			messages = append(messages, fmt.Sprintf("and %d more", len(issues.Errors())-i))
			break
		}
		messages = append(messages, displayed(issue, text))
	}
	return errors.New(strings.Join(messages, "\n"))
}

func displayed(issue *cel.Error, text string) string {
	display := issue.ToDisplayString(common.NewTextSource(text))
	if len(display) <= maxIssueBytes {
		return display
	}
	return fmt.Sprintf("ERROR: %d:%d: %s", issue.Location.Line(), issue.Location.Column()+1, abbreviate(issue.Message))
}

// abbreviate returns the beginning of a text.
func abbreviate(text string) string {
	const most = 256
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
