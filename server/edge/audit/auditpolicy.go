package audit

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/apis/audit/validation"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/kubeconnect/kubeconnect/auth"
)

// Policy decides which events are written, by the rules of a Policy of audit.k8s.io/v1. It is immutable.
type Policy struct {
	rules      []auditv1.PolicyRule
	omitStages []auditv1.Stage
}

// DefaultPolicy returns the policy that writes the events of all calls but those of health.
func DefaultPolicy() Policy {
	return Policy{rules: []auditv1.PolicyRule{
		{Level: auditv1.LevelNone, NonResourceURLs: []string{"/grpc.health.v1.Health/*"}},
		{Level: auditv1.LevelMetadata},
	}}
}

// ReadPolicy reads a policy from a file, as YAML or JSON. An error names the file and each field that is invalid.
func ReadPolicy(file string) (Policy, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return Policy{}, err
	}
	policy, err := parsePolicy(content)
	if err != nil {
		return Policy{}, fmt.Errorf("%s: %w", file, err)
	}
	return policy, nil
}

func parsePolicy(content []byte) (Policy, error) {
	asJSON, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		return Policy{}, err
	}
	var policy auditv1.Policy
	strict, err := kjson.UnmarshalStrict(asJSON, &policy)
	if err := errors.Join(append(strict, err)...); err != nil {
		return Policy{}, err
	}
	if invalid := validate(&policy); len(invalid) > 0 {
		return Policy{}, invalid.ToAggregate()
	}
	return Policy{policy.Rules, policy.OmitStages}, nil
}

// validate returns what the API server would reject, and the levels that would write contents.
func validate(policy *auditv1.Policy) (invalid field.ErrorList) {
	if policy.APIVersion != auditv1.SchemeGroupVersion.String() {
		invalid = append(invalid, field.NotSupported(field.NewPath("apiVersion"), policy.APIVersion, []string{auditv1.SchemeGroupVersion.String()}))
	}
	if policy.Kind != "Policy" {
		invalid = append(invalid, field.NotSupported(field.NewPath("kind"), policy.Kind, []string{"Policy"}))
	}
	if len(policy.Rules) == 0 {
		invalid = append(invalid, field.Required(field.NewPath("rules"), "without a rule nothing is written"))
	}
	for i, rule := range policy.Rules {
		if rule.Level == auditv1.LevelRequest || rule.Level == auditv1.LevelRequestResponse {
			invalid = append(invalid, field.Invalid(field.NewPath("rules").Index(i).Child("level"), rule.Level,
				"the contents of requests and responses are never written: use Metadata"))
		}
	}
	var internal audit.Policy
	if err := auditv1.Convert_v1_Policy_To_audit_Policy(policy, &internal, nil); err != nil {
		return append(invalid, field.InternalError(nil, err))
	}
	return append(invalid, validation.ValidatePolicy(&internal)...)
}

// about is what rules match: a read of a resource, or a call of a procedure that reads none.
type about struct {
	user auth.Identity
	auth.Attributes
}

// writes reports whether the events of a stage are written. The first rule that matches decides.
func (p Policy) writes(of about, stage auditv1.Stage) bool {
	for i := range p.rules {
		if rule := &p.rules[i]; matches(rule, of) {
			return rule.Level == auditv1.LevelMetadata && !slices.Contains(rule.OmitStages, stage) && !slices.Contains(p.omitStages, stage)
		}
	}
	return false
}

// matches reports whether all conditions of a rule are met. An empty list is no condition.
func matches(rule *auditv1.PolicyRule, of about) bool {
	inGroup := func(group string) bool { return slices.Contains(of.user.Groups, group) }
	switch {
	case len(rule.Users) > 0 && !slices.Contains(rule.Users, of.user.Username),
		len(rule.UserGroups) > 0 && !slices.ContainsFunc(rule.UserGroups, inGroup),
		len(rule.Verbs) > 0 && !slices.Contains(rule.Verbs, of.Verb):
		return false
	case len(rule.Resources) > 0 || len(rule.Namespaces) > 0:
		return of.Path == "" && matchesResource(rule, of.Attributes)
	case len(rule.NonResourceURLs) > 0:
		return of.Path != "" && slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool { return matchesPath(url, of.Path) })
	}
	return true
}

func matchesResource(rule *auditv1.PolicyRule, of auth.Attributes) bool {
	if len(rule.Namespaces) > 0 && !slices.Contains(rule.Namespaces, of.Namespace) {
		return false
	}
	return len(rule.Resources) == 0 || slices.ContainsFunc(rule.Resources, func(group auditv1.GroupResources) bool {
		switch {
		case group.Group != "*" && group.Group != of.Group,
			len(group.ResourceNames) > 0 && !slices.Contains(group.ResourceNames, of.Name):
			return false
		}
		return len(group.Resources) == 0 || slices.ContainsFunc(group.Resources, func(name string) bool { return matchesName(name, of) })
	})
}

// matchesName reports whether an entry of resources matches a read: pods, pods/log, pods/*, */log or *.
func matchesName(name string, of auth.Attributes) bool {
	resource, subresource, hasSubresource := strings.Cut(name, "/")
	switch {
	case name == "*":
		return true
	case !hasSubresource:
		return resource == of.Resource && of.Subresource == ""
	case subresource == "*":
		return resource == of.Resource
	case resource == "*":
		return subresource == of.Subresource
	}
	return resource == of.Resource && subresource == of.Subresource
}

// matchesPath reports whether a path is the one of a rule, or begins with it if that ends in *.
func matchesPath(url, path string) bool {
	prefix, isPrefix := strings.CutSuffix(url, "*")
	return url == path || isPrefix && strings.HasPrefix(path, prefix)
}
