package preflight

import (
	"context"
	"slices"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// need is a group of permissions for one purpose.
type need struct {
	check       string
	outcome     Outcome // if one is missing
	permissions Permissions
	without     string
}

func rule(group string, verbs, resources []string) Permissions {
	return Permissions{Rules: []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: resources, Verbs: verbs}}}
}

var (
	listWatch = []string{"list", "watch"}
	create    = []string{"create"}
)

// needs returns the permissions that the features need, the most important ones first. deploy/ grants
// the same, and e2e/deploy shows what fails without each.
func (f Features) needs() []need {
	var needs []need
	if f.AuthenticatesCallers {
		needs = append(needs, callerNeeds...)
	}
	if f.AuthenticatesCallers && f.FollowsTokens {
		needs = append(needs, tokenNeeds...)
	}
	switch {
	case !f.AuthenticatesCallers:
	case f.Impersonates:
		needs = append(needs, impersonation)
	case f.Constrained:
		needs = append(needs, constrained...)
	}
	return append(needs, need{
		"custom resources", Warning, rule("apiextensions.k8s.io", listWatch, []string{"customresourcedefinitions"}),
		"A changed schema of custom resources is noticed after half a minute, and a changed conversion is not.",
	}, need{
		"aggregated APIs", Warning, rule("apiregistration.k8s.io", listWatch, []string{"apiservices"}),
		"Without list, no custom resource is cached. Without watch, an API that moves to another server is noticed after half a minute.",
	})
}

var callerNeeds = []need{
	{
		"authentication", Failed, rule("authentication.k8s.io", create, []string{"tokenreviews"}),
		"No caller can be authenticated, and the service is not ready.",
	},
	{
		"authorization", Failed, rule("authorization.k8s.io", create, []string{"subjectaccessreviews"}),
		"No caller can read anything, and the service is not ready.",
	},
	{
		"RBAC", Warning,
		rule(rbacv1.GroupName, listWatch, []string{"clusterrolebindings", "clusterroles", "rolebindings", "roles"}),
		"Callers with permissions in some namespaces only cannot read over all namespaces, and revoked permissions have effect later.",
	},
	{
		"client certificates", Warning, Permissions{ClientAuthorities: true},
		"Callers with client certificates are rejected.",
	},
}

var tokenNeeds = []need{
	{
		"service accounts", Warning, rule("", listWatch, []string{"serviceaccounts"}),
		"Each token of a service account is reviewed every 10 seconds, instead of every 5 minutes.",
	},
	{
		"pods of tokens", Warning, rule("", listWatch, []string{"pods"}),
		"Each token of a pod is reviewed every 10 seconds, instead of every 5 minutes.",
	},
	{
		"keys of tokens", Warning, Permissions{Rules: []rbacv1.PolicyRule{{
			NonResourceURLs: []string{"/.well-known/openid-configuration", "/openid/v1/jwks"}, Verbs: []string{"get"},
		}}},
		"Each token of a service account is reviewed every 10 seconds, instead of every 5 minutes.",
	},
}

var impersonation = need{
	"impersonation", Warning, Permissions{Powerful: true, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"groups", "serviceaccounts", "users"}, Verbs: []string{"impersonate"}},
		{
			APIGroups: []string{"authentication.k8s.io"}, Verbs: []string{"impersonate"},
			Resources: []string{
				"uids",
				"userextras/authentication.kubernetes.io/credential-id",
				"userextras/authentication.kubernetes.io/node-name",
				"userextras/authentication.kubernetes.io/node-uid",
				"userextras/authentication.kubernetes.io/pod-name",
				"userextras/authentication.kubernetes.io/pod-uid",
			},
		},
	}},
	"Callers cannot write, read logs, or read what is not cached. This is intended if they read only what is cached.",
}

// reviewer reviews the permissions of the service's own account.
type reviewer struct {
	reviews authorizationclient.SelfSubjectAccessReviewInterface
	user    string
}

// check returns the result for the permissions of a need, with exactly those that are missing.
func (r reviewer) check(ctx context.Context, need need) Result {
	questions := need.permissions.questions()
	denied, err := r.denied(ctx, questions)
	if err != nil {
		return worse(Failed, need.check, "the API server does not review permissions: "+err.Error(),
			"It is unknown what the service is allowed to do.", "Call again; look at the API server if it persists.")
	}
	if len(denied) == 0 {
		return ok(need.check, "allowed to "+describe(questions))
	}
	missing := need.permissions.only(denied)
	return Result{
		Check: need.check, Outcome: need.outcome, Found: "not allowed to " + describe(denied),
		Consequence: need.without, Missing: missing, Grant: Grant(r.user, missing),
	}
}

// question is one permission.
type question authorizationv1.SelfSubjectAccessReviewSpec

// questions returns each single permission.
func (p Permissions) questions() (questions []question) {
	if p.ClientAuthorities {
		questions = append(questions, question{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "get", Namespace: authoritiesNamespace, Resource: "configmaps", Name: authoritiesConfigMap,
		}})
	}
	for _, rule := range p.Rules {
		for _, path := range rule.NonResourceURLs {
			questions = append(questions, question{NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: rule.Verbs[0], Path: path}})
		}
		for _, resource := range rule.Resources {
			name, subresource, _ := strings.Cut(resource, "/")
			for _, verb := range rule.Verbs {
				questions = append(questions, question{ResourceAttributes: &authorizationv1.ResourceAttributes{
					Verb: verb, Group: rule.APIGroups[0], Resource: name, Subresource: subresource,
				}})
			}
		}
	}
	return questions
}

// only returns the permissions that answer some of the questions, with one rule for each resource.
func (p Permissions) only(denied []question) *Permissions {
	missing := &Permissions{Powerful: p.Powerful}
	for _, q := range denied {
		switch {
		case p.ClientAuthorities:
			missing.ClientAuthorities = true
		case q.NonResourceAttributes != nil:
			missing.add(rbacv1.PolicyRule{NonResourceURLs: []string{q.NonResourceAttributes.Path}, Verbs: []string{q.NonResourceAttributes.Verb}})
		default:
			missing.add(rbacv1.PolicyRule{
				APIGroups: []string{q.ResourceAttributes.Group}, Resources: []string{q.resource()}, Verbs: []string{q.ResourceAttributes.Verb},
			})
		}
	}
	missing.Rules = compact(missing.Rules)
	return missing
}

// add adds a rule with one verb to that of the same resource, if it is the last one.
func (p *Permissions) add(rule rbacv1.PolicyRule) {
	if last := len(p.Rules) - 1; last >= 0 && len(rule.Resources) > 0 &&
		slices.Equal(p.Rules[last].Resources, rule.Resources) && slices.Equal(p.Rules[last].APIGroups, rule.APIGroups) {
		p.Rules[last].Verbs = append(p.Rules[last].Verbs, rule.Verbs...)
		return
	}
	p.Rules = append(p.Rules, rule)
}

// compact merges the rules that differ only in their resources.
func compact(rules []rbacv1.PolicyRule) (compacted []rbacv1.PolicyRule) {
	for _, rule := range rules {
		same := slices.IndexFunc(compacted, func(other rbacv1.PolicyRule) bool {
			return slices.Equal(other.APIGroups, rule.APIGroups) && slices.Equal(other.Verbs, rule.Verbs)
		})
		if same < 0 {
			compacted = append(compacted, *rule.DeepCopy())
			continue
		}
		compacted[same].Resources = append(compacted[same].Resources, rule.Resources...)
		compacted[same].NonResourceURLs = append(compacted[same].NonResourceURLs, rule.NonResourceURLs...)
	}
	return compacted
}

func (q question) resource() string {
	if q.ResourceAttributes.Subresource == "" {
		return q.ResourceAttributes.Resource
	}
	return q.ResourceAttributes.Resource + "/" + q.ResourceAttributes.Subresource
}

// describe returns permissions in the words of kubectl: "list, watch pods, services; create tokenreviews".
func describe(questions []question) string {
	var objects, allVerbs []string
	verbs := map[string][]string{}     // of each object
	objectsOf := map[string][]string{} // with the same verbs
	for _, q := range questions {
		verb, object := q.words()
		if len(verbs[object]) == 0 {
			objects = append(objects, object)
		}
		verbs[object] = append(verbs[object], verb)
	}
	for _, object := range objects {
		same := strings.Join(verbs[object], ", ")
		if len(objectsOf[same]) == 0 {
			allVerbs = append(allVerbs, same)
		}
		objectsOf[same] = append(objectsOf[same], object)
	}
	for i, same := range allVerbs {
		allVerbs[i] = same + " " + strings.Join(objectsOf[same], ", ")
	}
	return strings.Join(allVerbs, "; ")
}

func (q question) words() (verb, object string) {
	if q.NonResourceAttributes != nil {
		return q.NonResourceAttributes.Verb, q.NonResourceAttributes.Path
	}
	attributes := q.ResourceAttributes
	object = schema.GroupResource{Group: attributes.Group, Resource: attributes.Resource}.String()
	if attributes.Subresource != "" {
		object += "/" + attributes.Subresource
	}
	if attributes.Name != "" {
		object += " " + attributes.Name + " in " + attributes.Namespace
	}
	return attributes.Verb, object
}

// maxReviews bounds the concurrent reviews.
const maxReviews = 16

// denied returns the questions that the API server denies, in their order.
func (r reviewer) denied(ctx context.Context, questions []question) (denied []question, err error) {
	var (
		answers = make([]bool, len(questions))
		failed  = make([]error, len(questions))
		slots   = make(chan struct{}, maxReviews)
		running sync.WaitGroup
	)
	for i, permission := range questions {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			answers[i], failed[i] = r.allows(ctx, permission)
		})
	}
	running.Wait()
	for i, permission := range questions {
		switch {
		case failed[i] != nil:
			return nil, failed[i]
		case !answers[i]:
			denied = append(denied, permission)
		}
	}
	return denied, nil
}

// allows reports whether the API server grants a permission.
func (r reviewer) allows(ctx context.Context, permission question) (bool, error) {
	review, err := r.reviews.Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec(permission),
	}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}
